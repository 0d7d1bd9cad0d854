// Package wire is the wire format of client health: the messages between clients and servers,
// for the machines of package engine and for tools such as lnetdump. It does no I/O and knows
// no rules of the protocol.
//
// Messages are single PUTs, little-endian, with match bits Bits. Clients and servers send to
// ServerPortal, and servers send to ClientPortal. Message documents their format. Evictions are
// the payload of collectives; Batch and Reply document their format.
package wire
