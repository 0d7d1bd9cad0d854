// Package softroce is a provider of package verbs in Go: RoCEv2 over UDP. It needs
// no RDMA hardware, no kernel module and no privilege, and talks to whoever speaks
// RoCEv2, such as the software RoCE of Linux.
//
// # Device
//
// [Open] opens the device of an address: a [hub], shared by all handles of that
// address. It joins machines, which know no clock and no lock, to a network ([wire]):
//
//	port → ingress → demultiplexer → conn → rc → cq → upcall
//	post → conn → rc → framer → port
//
// All of the way in is one goroutine, that of the port or one that has borrowed the
// reading (below), and all of the way out is
// that of who posts: there is no queue between. A [conn] steps its transport under
// its lock, claims the completion queue there, which orders the completions, and
// makes the upcalls without any lock. If somebody else is making upcalls of that
// queue the completions are handed to them. What is posted from inside upcalls
// leaves when they have returned, in one go, with the acknowledgement behind it.
//
// One timer of the clock serves all connections ([timers]). A queue pair that is idle
// has no goroutine, no timer and no buffers.
//
// Packets are dropped and counted ([Stats]) if they are damaged (ICRC), of another
// partition, of no queue pair, or not from the peer of theirs. The system may refuse
// to send; then the transport repairs that as if the packet had been lost.
//
// Tests run the same device in virtual time, on a wire that loses and damages
// packets (package emulator), with numbers of their choice ([Numbers]), and let it
// take over a connection that a recording begins with ([Adopt]).
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
// window that is acknowledged, and is halved for a loss. The last packet of a message
// asks for an acknowledgement, and of a long one four of each window.
//
// A SEND that finds no receive buffer is dropped without an answer and comes again. An
// RNR NAK would cost its sender one of the few tries after which the connection ends.
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
// # Datagrams
//
// A [ud] is a queue pair for datagrams: what is posted leaves from inside PostSend, and
// completes there, unless the system has no room: then it waits, and is tried again.
// It receives what comes to its number at the device's port, and what comes to the
// [groups] that it has joined, each of which has a port of its own: bound to the
// group's address, because that is what the ICRC covers, and so that neither what
// others on this host have joined nor the device's own packets arrive there.
//
// # Lending
//
// Who waits for a message can read the socket of the device himself, see [verbs.Lending]
// and package loan. The socket is that of all connections, the connection manager
// and the ACKs, and so it is not lent while much arrives or is on the way, or a message
// takes several packets. The right goes back when that is read, or posted while nobody reads.
// Who is away for longer than a peer waits before it probes loses the right when he comes
// back or anything is posted, and one that nobody uses comes back after
// 20 ms at most. Until then nobody reads: what comes for others waits, and peers probe.
//
// An ACK that has to leave by itself waits until the port is about to wait for packets: if
// its reading is lent, for what the borrower posts, or for his next call. Otherwise
// each answer would cost two calls of the system and wake the peer twice. If several
// queue pairs were heard none waits.
//
// # Memory and socket
//
// A [domain] has the regions that a peer may write and pools of receive buffers; an
// [allowance] bounds the packets that a device has on the way. A [framer] makes
// bursts of datagrams of packets, which a [socket] sends with one call each.
package softroce
