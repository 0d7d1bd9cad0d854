// Package portals is LNet's programming interface: the portal table with its
// match entries (MEs) and memory descriptors (MDs), Put, Get, and events. It is
// what gossip, collectives, health and selftest are written against.
//
// # Model
//
// A node has 64 portals. A process that wants to receive attaches an ME to a
// portal (who may send, and which 64 match bits) and an MD to the ME (the
// memory, and what may be done with it). A process that wants to send binds an
// MD to no ME and names it in [Table.Put] or [Table.Get]. The initiator of an
// operation says where in the target's table it wants to go; the target's ME
// and MD decide whether and where it lands.
//
//	initiator                         target
//	Put   SEND event        PUT ->    PUT event, data at the MD's offset
//	      ACK event      <- ACK       if the PUT asked and the MD allows
//	Get   SEND event        GET ->
//	      REPLY event    <- REPLY     GET event when the REPLY has left
//
// SEND and ACK or REPLY events come in either order. LNet's sources for all of
// this are lib-ptl.c, lib-md.c and lib-move.c.
//
// [Table.PutMulticast] is a Put to all members of a group in one datagram, which
// may get lost.
//
// # Events and handlers
//
// An MD has a handler, an [EQ], or neither. A handler runs in the goroutine
// that completed the operation, with no lock of ours held, and for one MD never
// twice at the same time. That may be one that calls Table or waits in
// [EQ.Wait], so a handler must not take locks that are held across these. It
// must not block, unless the MD has the option MayBlock; it may call every method of
// Table. Events that nothing on the network causes, as timeouts, come from the
// goroutine of a timer. When one arrives for an MD whose handler is running, it is
// delivered right after.
//
// Exactly one event of an MD's incarnation has Unlinked set, the last one; until then
// the MD's memory belongs to the table.
//
// # Back-pressure
//
// At most [MaxPending] PUT and GET events wait for the handler of an MD, and one more
// for each connection that was held or read when the bound was reached. The table holds
// further messages, unmatched, until the handler has seen all events: the driver
// reads nothing else from the connection (TCP), or keeps the message and gives the
// peer fewer credits (RDMA). A held message is tried against no other ME. If its
// connection or NI ends first it is dropped and counted; a datagram is dropped at
// once. Other connections are read on, those of the same peer included.
//
// Urgent messages go on: on TCP they come by a connection of their own, with RDMA they
// have a credit of their own. But a handler that blocks without MayBlock stops the
// goroutine that runs it, which reads a connection (TCP), or the socket of all peers
// (softroce), which then find this node dead.
//
// An MD that takes one message, as the buffers of an [Inbox] do, has no events that
// wait, so nothing is ever held for its handler: gossip, zones and client health
// receive in this way. There one buffer for each goroutine that runs the handler
// bounds memory, and the handler must be quick, or keep the message and leave it to
// others.
//
// SEND, ACK and REPLY events are never held: they are no more than the operations that
// this node has begun.
//
// # Failures
//
// A message that no ME takes is dropped and counted (see lnet.DropReason);
// its sender is not told. So is an ACK or REPLY that no operation awaits: a PUT
// that asked takes one ACK, a GET one REPLY, each of the process that was asked, by
// any NID of its node, and a failed SEND event says that nothing will follow; the
// threshold that is left then keeps the MD until it is unlinked.
//
// An ACK or REPLY that does not come within one to one and a half transaction
// timeouts (lnet.Config) of the MD's latest Put or Get unlinks the MD: its last
// event is an UNLINK event that no call asked for or, if something was still
// under way and ends well, has the error ETIMEDOUT. This is LNet's response
// tracking; the options TrackResponse and NoTrackResponse of an MD choose.
//
// Errors of calls carry Linux's errno values
// (errors.Is with syscall.ENOENT and so on), under the names of the C API.
//
// # Operations of their own
//
// A Put or Get moves the whole MD, its events are told apart by the MD, and a missing
// answer ends the MD. Zero values of the requests leave it at that, as LNet has it.
// LocalOffset and Length choose a part of the MD; OpPtr comes back in the SEND, ACK and
// REPLY events of the operation; with a Timeout it is the operation that ends when its
// answer is missing, with an ACK or REPLY event of its own and ETIMEDOUT. Its answer is
// dropped from then on, but the SEND event may still come, and until that the network may
// use the memory. An UNLINK event ends what is under way on its MD, whatever the OpPtr.
//
// To tell such operations apart the table gives the peer a handle of the operation in
// place of the MD's, which any LNet sends back as it is.
//
// # Liveness
//
// [Table.LastHeard] and [Table.LastSent] tell when the latest message of a
// process came, and when the latest one to it left, whoever in this node it was
// for; [Event].ReceivedAt when that of an event came. All are times at which the
// driver read or wrote, on the node's clock: a message that lay in a queue of
// this process for a while is no news of now. One that lay in the socket because
// the process stood still is: who judges others by these times has to notice his
// own pauses (CH-A16). [Table.WatchPeer] tells when connections
// come and go. The rows are CH-8 and CH-35.
//
// # Concurrency
//
// All methods are safe for concurrent use. The package starts no goroutine and
// reads no clock but the node's. Put and Get never block; only EQ.Wait, EQ.Poll
// and Table.PollEQs do. Messages of one sender to one peer keep their order as far as a
// driver with several connections keeps it: do not rely on it between small
// and large messages.
package portals
