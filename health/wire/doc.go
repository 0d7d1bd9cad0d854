// Package wire is the wire format of client health: what clients and servers send each other,
// for the machines of package engine and for those who look on, such as lnetdump. It does
// no I/O and knows no rules.
//
// Messages are single PUTs, little-endian, with match bits Bits: to ServerPortal
// from clients and servers, to ClientPortal from servers. The format is described
// at Message; that of evictions, which travel in collectives, at Batch and Reply.
package wire
