// Package lnet is the message layer: it knows this node's network interfaces
// (NIs), the peers beyond them and the credits that bound what is in flight.
//
// It stands between the portal table above ([Upper]) and the drivers below
// (package lnd). Going down, [Node.Send] chooses the NI, takes a peer credit
// and an NI credit, in this order, and hands the message to the driver;
// without credit the message waits in its peer's queue, priority messages
// first. Before that, the first PUT or GET to a peer waits until discovery has
// found out which node it is ([Node.SetDiscoverer]); what is known of nodes is a
// [Peer], of each way to one of their NIDs a [PeerNI]. Coming up, [NI.Parse] checks the header, decides whether the message
// is for this node, and asks Upper where its payload goes. LNet's sources for
// both are lib-move.c and lib-msg.c.
//
// # What never happens here
//
// lnet starts no goroutine and reads no clock of its own: every call runs in
// the goroutine of its caller, a handler or a driver's reader, and time comes
// from [Config].Clock. It allocates nothing per message. Nothing
// waits but [Node.RemoveNI] and [Node.Shutdown], and upcalls of a driver that
// is still starting.
//
// # Locks
//
// One lock per peer and one per NI, taken in this order, none held across a
// call into a driver, into Upper, into the discoverer or into a watcher of
// [Node.WatchPeer]. Who joins and leaves groups has one more, which is held while
// the driver does so.
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
