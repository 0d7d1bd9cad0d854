// Package wire is the wire format of client health: the messages between clients and servers,
// for the machines of package engine and for tools such as lnetdump. It does no I/O and knows
// no rules of the protocol.
//
// Messages are single PUTs, little-endian, with match bits Bits: to ServerPortal from clients
// and servers, to ClientPortal from servers. Message documents the format of messages; Batch
// and Reply document that of evictions, which are the payload of collectives.
package wire
