// Package portals is LNet's programming interface: the portal table with its match entries
// (MEs) and memory descriptors (MDs), Put, Get, and events. Gossip, collectives, client
// health and other protocols are written against it.
//
// # Model
//
// A node has 64 portals. To receive, a process attaches an ME to a portal (which
// initiators may send, and which 64 match bits) and an MD to the ME (the memory,
// and which operations it accepts). To send, a process binds an MD to no ME and
// names it in [Table.Put] or [Table.Get]. The initiator of an operation names a
// portal, match bits and an offset; the target's ME and MD decide whether the
// operation is accepted and which memory it uses.
//
//	initiator                         target
//	Put   SEND event        PUT ->    PUT event, data at the MD's offset
//	      ACK event      <- ACK       if the PUT asked and the MD allows
//	Get   SEND event        GET ->
//	      REPLY event    <- REPLY     GET event when the REPLY has left
//
// SEND and ACK or REPLY events come in either order. The corresponding sources of LNet are
// lib-ptl.c, lib-md.c and lib-move.c.
//
// [Table.PutBatch] is several Puts from one MD, to one process or many, which cost less than
// calls of Put. [Table.PutMulticast] is a Put to all members of a group in one datagram, which
// may get lost.
//
// # Events and handlers
//
// An MD has a handler, an [EQ], or neither. A handler runs in the goroutine
// that completed the operation, with no lock of this package held, and never twice
// at the same time for one MD. That goroutine may be inside a method of Table or in
// [EQ.Wait], so a handler must not take locks that are held across these calls. It
// must not block, unless the MD has the option MayBlock; it may call every method of
// Table. Events without a message, such as timeouts, come from the goroutine of a
// timer. An event for an MD whose handler is running is delivered when the handler
// returns.
//
// The last event of an MD, and no other, has Unlinked set; until then the MD's memory
// belongs to the table.
//
// # Back-pressure
//
// At most [MaxPending] PUT and GET events wait for the handler of an MD, and one more for
// each connection on which a message was held or being read when the bound was reached. The
// table holds further messages, unmatched, until the handler has seen all events: the driver
// reads nothing else from the connection (TCP), or keeps the message and gives the peer fewer
// credits (RDMA). A held message is tried against no other ME. If its connection or NI ends
// first it is dropped and counted; a datagram is dropped at once, and so is a message of a peer
// of which as many are held as [MaxHeld] allows. Other connections are read on, those of the same peer included.
//
// Urgent messages are not held up: they have a connection of their own on TCP, and a
// credit of their own with RDMA. But a handler that blocks without MayBlock stops the
// goroutine that runs it, which reads a connection (TCP) or the socket of all peers
// (softroce); those peers then consider this node dead. The drivers of this node do not consider
// them dead: for up to a minute, such time counts towards none of their time-outs. But what is
// above the drivers does: the ACKs, REPLYs and gossip of these peers lie unread as well. A
// handler that never returns keeps messages that are being sent from ever getting a SEND event.
//
// An MD that takes only one message, such as a buffer of an [Inbox], never has several events,
// so no message is ever held for its handler. Gossip, zones and client health receive in this
// way. Memory is then bounded by one buffer for each goroutine that runs the handler. The
// handler must be quick, or keep the message and hand it to another goroutine.
//
// SEND, ACK and REPLY events are never held: the operations that this node has begun
// bound their number.
//
// # Failures
//
// A message that no ME takes is dropped and counted (see lnet.DropReason); its sender is not
// told. An ACK or REPLY that no operation awaits is dropped as well. A PUT with Ack awaits
// one ACK and a GET one REPLY, from the process that the message went to, under any NID of
// its node. After a failed SEND event no other event follows; if the MD has threshold left,
// it stays until it is unlinked.
//
// An ACK or REPLY that does not come within one to one and a half transaction timeouts
// (lnet.Config) of the MD's latest Put or Get unlinks the MD. Its last event is then an UNLINK
// event, although no program called MDUnlink. If another operation on the MD is still under way
// then, the last event is that operation's event instead, with the error ETIMEDOUT even if the
// operation itself succeeds. This is LNet's response tracking; the options TrackResponse and
// NoTrackResponse of an MD turn it on and off.
//
// A REPLY is in time, for this and for a Timeout, if it begins to arrive in time. From then on the
// driver writes into the MD's memory, and its own timeout for a peer that sends no more applies
// (sock_timeout with TCP). An answer also is in time for a Timeout if it came while this process was
// stopped: the driver has half a second to read it when the process goes on. The REPLY event, and
// the last event after an MDUnlink, come when the driver has ended: no event hands over memory that
// is still written to.
//
// Errors of calls carry Linux's errno values
// (errors.Is with syscall.ENOENT and so on), under the names of the C API.
//
// # Several operations on one MD
//
// By default, as in LNet, a Put or Get moves the whole MD, an event is recognized by its MD,
// and a missing answer ends the MD. LocalOffset and Length choose a part of the MD. OpPtr comes
// back in the SEND, ACK and REPLY events of the operation. With a Timeout a missing answer ends
// the operation alone, with an ACK or REPLY event that has ETIMEDOUT. A later answer is
// dropped, but the SEND event may still come, and until then the network may use the memory. An
// UNLINK event ends all operations on its MD, whatever their OpPtr.
//
// To tell such operations apart the table gives the peer a handle of the operation
// instead of the MD's; every LNet sends the handle back unchanged.
//
// # Liveness
//
// [Table.LastHeard] and [Table.LastSent] return when the latest message from a process
// arrived and when the latest one to it left, for any portal of this node; [Event].ReceivedAt
// is when the message of an event arrived. All are times at which the driver read or wrote,
// on the node's clock, so time that a message spends in a queue of this process does not
// count. Time in the socket does count, for instance while this process is suspended: a failure
// detector that uses these times must detect its own pauses (CH-A16). [Table.WatchPeer]
// reports when connections come and go. The rows of docs/spec are CH-8 and CH-35.
//
// # Latency
//
// [Table.Latencies] returns how long Puts with Ack and Gets of this node took, as histograms
// (package lnet/latency) of one operation in 64, drawn at random. Like an operation with an OpPtr, a
// timed operation has a handle of its own, so that only its own answer ends the measurement. With the
// handle of the MD, a duplicate of another operation's ACK could be taken for the operation's own ACK,
// which was lost. A timed operation reads the clock, and takes the locks of the table's handles. The
// other operations only draw a number: they read no clock, take no lock and allocate nothing more.
// While an MD awaits the answers of 8 timed operations, none of its further operations is timed.
//
// # Concurrency
//
// All methods are safe for concurrent use. The package starts no goroutine and reads no clock
// but the node's. Put and Get never block; only EQ.Wait, EQ.Poll and Table.PollEQs do. Messages
// of one sender to one peer keep their order as far as the driver keeps it. A driver with
// several connections may change the order of small and large messages, so do not rely on it.
package portals
