// Package softroce will be a provider of package verbs in Go: RoCEv2 over UDP.
// So far it has its parts: the transport of a reliable connection and the connection
// manager, which are machines, memory, and the socket. What joins them to a device
// is missing.
//
// # Reliable connection
//
// An [rc] is both ends of one queue pair: a requester, which cuts posted work
// requests into packets and keeps them until the peer acknowledges them, and a
// responder, which takes the peer's packets in order. Whoever steps it has
// checked ICRC, addresses and queue pair numbers of what it is given, puts ICRCs
// behind what it sends, and lends it memory: regions to write to ([memory]) and
// receive buffers ([pool]).
//
// Packets that are lost are sent again from the oldest on which is missing, as all
// RoCE does. What finds that out, the fastest first:
//
//	NAK        the responder got a packet ahead of a missing one: says so once
//	probe      nothing was heard for some round trips: the oldest packet goes
//	           again, and asks for an acknowledgement. It is answered by how far
//	           the responder has come, and does not count as a retry
//	timeout    nothing was heard for the ACK timeout: a retry
//
// A window bounds the packets on the way: it begins with 16, grows by one for each
// window that is acknowledged, and is halved for a loss. Four packets of a window ask
// for an acknowledgement, and the last one of all that is to be sent.
//
// A SEND that finds no receive buffer is dropped without an answer (a NAK would
// stop a kernel for 655 ms) and comes again.
//
// # Connection manager
//
// A [cm] speaks for QP 1 of a device: it makes and ends connections (IBTA vol. 1
// §12) with the private data of RDMA-CM, as the asking or the asked side. Whoever
// steps it makes the queue pairs; both ends of a connection get to know what the
// other said ([cmEnd]). Messages are lost, repeated, overtaken and forged; a
// connection takes those of its peer alone, and each that it does not take has a
// counter.
//
// # Memory and socket
//
// A [domain] has the regions that a peer may write and pools of receive buffers; an
// [allowance] bounds the packets that a device has on the way. A [framer] makes
// bursts of datagrams of packets, which a [socket] sends with one call each.
package softroce
