// Package softroce is a provider of package verbs in Go: RoCEv2 over UDP. It needs
// no RDMA hardware, no kernel module and no privilege, and works with any peer that speaks
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
// One goroutine does all of the way in: that of the port or one that has taken over its
// read loop (below). The goroutine that posts does all of the way out: there is no queue
// between. A [conn] steps its transport under
// its lock, claims the completion queue there, which orders the completions, and
// makes the upcalls without any lock. If another goroutine is making upcalls of that
// queue it gets the completions. What is posted from inside upcalls
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
// responder, which takes the peer's packets in order. Its caller has checked ICRC,
// addresses and queue pair numbers of the packets, appends ICRCs to those it sends, and
// provides memory: regions to write to ([memory]) and receive buffers ([pool]).
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
// A window bounds the packets in flight: it begins with 16, grows by one for each
// window that is acknowledged, and is halved for a loss. The last packet of a message
// asks for an acknowledgement, and of a long one four of each window.
//
// A SEND that finds no receive buffer is dropped without an answer and comes again. An
// RNR NAK would cost its sender one of the few tries after which the connection ends.
//
// # Connection manager
//
// A [cm] speaks for QP 1 of a device: it makes and ends connections (IBTA vol. 1
// §12) with the private data of RDMA-CM, as the active or the passive side. Its shell
// makes the queue pairs; both ends of a connection get the parameters of the other
// ([cmEnd]). Messages are lost, repeated, overtaken and forged; a
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
// # Hand-over of the read loop
//
// A goroutine that waits for a message can take over the read loop of the device's socket
// (Leader/Followers), see [verbs.ReadLooper] and package readloop. All connections share
// the socket, with the connection manager and the ACKs. So the loop is handed over only
// while little arrives and is in flight and messages fit one packet, and it goes back when
// something else is read, or posted while no goroutine reads. A follower that stays away
// for longer than a peer waits before it probes loses the loop when it comes back or
// anything is posted; an unused loop goes back after 20 ms at most. Until then no goroutine
// reads: packets for others wait, and peers probe.
//
// The device delays an ACK until the port is about to block, so that it can leave with an
// answer. While the loop is handed over it waits for what the follower posts, or for the
// follower's next Receive. Otherwise each answer would cost two system calls and wake the
// peer twice. If packets of several queue pairs arrived no ACK is delayed.
//
// # Memory and socket
//
// A [domain] has the regions that a peer may write and pools of receive buffers; an
// [allowance] bounds the packets that a device has in flight. A [framer] makes
// bursts of datagrams of packets, which a [socket] sends with one call each.
package softroce
