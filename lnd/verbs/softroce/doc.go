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
// One goroutine does all of the way in: that of the port or one that has taken over its read
// loop (below). The goroutine that posts does all of the way out: there is no queue between.
// A [conn] steps its transport under its lock, claims the completion queue there, which
// orders the completions, and makes the upcalls without any lock. If another goroutine is
// making upcalls of that queue, that goroutine makes these, too. The packets of work requests
// that upcalls post leave when the upcalls have returned, all together, followed by the
// RoCE ACK of the packets that have arrived.
//
// One timer of the clock serves all connections ([timers]). A queue pair that is idle
// has no goroutine, no timer and no buffers.
//
// Packets are dropped and counted ([Stats]) if they are damaged (ICRC), of another partition,
// for no queue pair, or not from the peer of their queue pair. The system may refuse to send
// a packet; then the transport retransmits it as if it had been lost.
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
// Packets that are lost are sent again from the oldest missing one on, as all RoCE does. A
// loss is noticed in one of these ways, the fastest first:
//
//	NAK        The responder has got a packet that comes after a missing one, and sends
//	           one NAK for it
//	probe      The requester has received nothing for some round trips: it sends the
//	           oldest packet again, with a request for an acknowledgement. The ACK says
//	           which packets have arrived. A probe does not count as a retry
//	timeout    The requester has received nothing for the ACK timeout: it goes back to
//	           the oldest packet, which counts as a retry. Time for which upcalls keep
//	           the device from reading does not count, see [absence] and [extension]
//
// A window bounds the packets in flight: it begins with 16, grows by one for each
// window that is acknowledged, and is halved for a loss. The last packet of a message
// asks for an acknowledgement. In a long message, up to four packets of each window ask for one.
//
// Messages of one packet that are posted while at least 16 others are in flight are held back, and
// leave in one burst: with the next ACK, or when 16 are held back. They also leave when a timer for
// lost packets is due: at first a probe, after some round trips and at least 500 µs of silence. From
// then on no message is held back until the peer makes progress, because its ACKs may be lost. None is
// held back either if fewer than 16 are in flight, or if a round trip takes 500 µs or more.
//
// A SEND that finds no receive buffer is dropped without an answer, and its sender
// retransmits it. An RNR NAK would cost the sender one of the few tries after which the
// connection ends. Meanwhile the device frees the buffers of SENDs whose next packet does not
// come: what has come of them waits in other memory.
//
// # Connection manager
//
// A [cm] speaks for QP 1 of a device: it makes and ends connections (IBTA vol. 1
// §12) with the private data of RDMA-CM, as the active or the passive side. Its shell
// makes the queue pairs; both ends of a connection get the parameters of the other
// ([cmEnd]). Messages are lost, repeated, overtaken and forged; a connection accepts messages
// of its peer alone, and every message that it does not accept has a counter.
//
// # Datagrams
//
// A [ud] is a queue pair for datagrams: a posted datagram leaves from inside PostSend, and
// completes there, unless the system has no room: then it waits, and is tried again. A ud
// receives datagrams to its number at the device's port, and datagrams to the [groups] that
// it has joined. Each group has a port of its own, which is bound to the group's address: the
// ICRC covers that address, and so neither the device's own packets arrive there nor those of
// groups that only others on this host have joined.
//
// # Hand-over of the read loop
//
// A goroutine that waits for a message can take over the read loop of the device's socket
// (Leader/Followers), see [verbs.ReadLooper] and package readloop. All connections share the
// socket, also with the connection manager and the ACKs. So the loop is handed over only
// while few packets arrive and are in flight and messages fit one packet, and it goes back
// when other packets arrive, or when something is posted while no goroutine reads. A follower
// that stays away for longer than [readloop.MaxAbsence], which is less than a peer waits before it
// probes, loses the loop when it comes
// back or anything is posted; an unused loop goes back after 20 ms at most. Until then no
// goroutine reads: packets for other goroutines wait, and peers probe.
//
// The device delays an ACK until the port is about to block, so that it can leave with an answer,
// or else with the ACKs to other peers in one system call. While the loop is handed over the ACK
// waits until the follower posts something, or until the follower's next Receive. Otherwise each
// answer would cost two system calls and wake the peer twice. If packets of several queue pairs
// arrived no ACK is delayed.
//
// # Memory and socket
//
// A [domain] has the regions that a peer may write and pools of receive buffers; an
// [allowance] bounds the packets that a device has in flight. A [framer] makes
// bursts of datagrams of packets, which a [socket] sends with one call each. While the system looks for a
// neighbour (ARP), packets to it take room in the send buffer. So packets to a node that may not exist leave from
// three further sockets (wire.Attr.Aside): one for requests of the connection manager, one for its answers, so
// that requests to missing nodes do not delay answers to others, and one for repetitions to a silent peer.
package softroce
