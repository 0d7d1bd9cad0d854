// Package wire is the wire format of reliable multicast: what members and managers send
// each other, for the machines of package engine and for those who look on, such as
// lnetdump. It does no I/O and knows no rules.
//
// Messages are single PUTs, little-endian, a portal for each kind: a [Datagram] by multicast
// to [DataPortal], or as a repair; entries, each an [Entry], of members to each other to
// [ControlPortal]; an [Order] between members and managers to [ManagerPortal].
package wire
