// Package wire is the wire format of reliable multicast: the messages of members and managers,
// for the machines of package engine and for tools such as lnetdump. It does no I/O and
// contains no protocol rules.
//
// Messages are single PUTs, little-endian, on one portal per kind: a [Datagram] by multicast
// or as a repair to [DataPortal], control messages with several [Entry] between members to
// [ControlPortal], an [Order] between members and managers to [ManagerPortal].
package wire
