// Package lnet is the message layer: it knows this node's network interfaces
// (NIs), the peers beyond them and the credits that bound what is in flight.
//
// It stands between the portal table above ([Upper]) and the drivers below
// (package lnd). Going down, [Node.Send] chooses the NI, takes a peer credit
// and an NI credit, in this order, and hands the message to the driver;
// without credit the message waits in its peer's queue, priority messages
// first. Before that, the first PUT or GET to a peer waits until discovery has
// found out which node it is ([Node.SetDiscoverer]); what is known of nodes is a
// [Peer], of each way to one of their NIDs a [peerNI]. Coming up, [NI.Parse] checks the header, decides whether the message
// is for this node, and asks Upper where its payload goes. LNet's sources for
// both are lib-move.c and lib-msg.c.
//
// # Credits
//
// A message for which the driver has to dial keeps its peer credit and gives the
// NI credit back (lnd.Upcalls.Waits); what waits behind it in lnet is bounded.
// What peers hold above half of the NI's credits from which nothing has left for
// 100 ms is lent to others. Both are local policy; see niCredits and backlog.
//
// # What never happens here
//
// lnet starts no goroutine and reads no clock of its own: every call runs in
// the goroutine of its caller, a handler, a driver's reader or one of two timers
// (of credits with waiters, and of idle peers), and time comes
// from [Config].Clock. It allocates nothing per message. Nothing
// waits but [Node.RemoveNI] and [Node.Shutdown], and upcalls of a driver that
// is still starting.
//
// # Locks
//
// One lock of the table of peers, one per peer and one per NI, taken in this
// order, none held across a
// call into a driver, into Upper, into the discoverer or into a watcher of
// [Node.WatchPeer]. Who joins and leaves groups has one more, which is held while
// the driver does so.
//
// # Names
//
// The source in a header is what the sender wrote. A message counts only if that is
// the process at the other end of its connection, as the driver knows it
// ([ForeignSource], Config.SourceUnchecked), and never under a name of this node but
// over loopback. Everything above may rely on it: match ids, lists of participants,
// signs of liveness. An answer goes back by the connections of that process, from the NI
// that was asked.
//
// # Multicast
//
// A message to a group goes by [Node.MulticastNI] and is one datagram. It needs
// no peer, no credit and no discovery: who sends datagrams bounds them himself. What
// comes as a datagram may be from anybody on the net, and the network's word for
// who sent it is weak. So it ends no connection, makes no peer known, and counts
// for nothing in [Node.LastHeard].
//
// # Failures
//
// Send reports everything through Upper.Sent. Each message that is dropped on
// arrival is counted under its [DropReason], locally: LNet tells the sender
// nothing.
package lnet
