// Package lnet is the message layer: it knows this node's network interfaces
// (NIs), the peers beyond them and the credits that bound what is in flight.
//
// It stands between the portal table above ([Upper]) and the drivers below
// (package lnd). Going down, [Node.Send] chooses the NI, takes a peer credit
// and an NI credit, in this order, and hands the message to the driver;
// without credit the message waits in its peer's queue, priority messages
// first. Before that, the first PUT or GET to a peer waits until discovery has
// found out which node it is ([Node.SetDiscoverer]). A [Peer] is what is known of a
// node, a [peerNI] the path from one of our NIs to one of its NIDs. Coming up,
// [NI.Parse] checks the header, decides whether the message is for this node, and asks
// Upper where its payload goes. LNet's sources for both are lib-move.c and lib-msg.c.
//
// # Paths
//
// Which NI, which NID of the peer and which gateway a message takes is decided by package path,
// each time that Send or a message that has waited for discovery needs it. Its state is kept
// here: [NI.Rail] is the state of an NI, [Node.Rail] that of a peer's NID, [Node.SetRoutes]
// installs routes, and [Node.SetRules] installs selection rules. The code that learns of
// health, links or rules updates them. For a node with one NI and a peer with one NID there is
// no choice, and it costs nothing.
//
// Two kinds of messages of one priority leave in the order of Send, as long as none has to be
// sent again: those to a peer that is not multi-rail, and those from a node with one NI to a
// peer with one NID. Over several rails there is no order between messages. The protocols above
// portals need none: their simulations reorder messages, and urgent ones have always overtaken
// others.
//
// # Credits
//
// A message for which the driver has to dial keeps its peer credit and gives the NI credit
// back (lnd.Upcalls.Waits); the number of messages that wait behind it in lnet is bounded. A
// peer stalls if it holds NI credits and none of its messages has left for 100 ms. What
// stalled peers hold above half of the NI's credits is given to others. The answers that wait for
// a peer are bounded, too: beyond the bound, requests of the peer are dropped ([AnswersUnread]).
// All this is local policy; see niCredits and backlog.
//
// # Goroutines
//
// lnet starts no goroutine and reads no clock but [Config].Clock: every call runs in the
// goroutine of its caller, a handler, a driver's reader or one of its timers. It allocates
// nothing per message. Only [Node.RemoveNI] and [Node.Shutdown] block, and upcalls of a
// driver that is still starting.
//
// # Locks
//
// There is one lock of the table of peers, one per peer and one per NI, taken in this
// order. None is held while lnet calls a driver (other than the methods of lnd.Inliner), Upper,
// the discoverer or a watcher of [Node.WatchPeer]. An inline message that joins an open buffer
// of the driver takes none of these locks. Joining and leaving groups takes one more lock,
// which is held while the driver joins or leaves.
//
// # Names
//
// The source in a header is what the sender wrote. A message is accepted only if that
// is the process at the other end of its connection, as the driver knows it
// ([ForeignSource], Config.SourceUnchecked); a source that is a NID of this node is
// accepted over loopback alone. Upper layers rely on it: match ids, lists of
// participants, signs of liveness. An answer goes back by the connections of that
// process, from the NI that received the request.
//
// # Multicast
//
// A message to a group goes by [Node.MulticastNI] and is one datagram. It needs
// no peer, no credit and no discovery: the sender limits its own rate. Any host on the
// net can send a datagram under a false source. So a received datagram ends no
// connection, makes no peer known, and does not count for [Node.LastHeard] or the health
// of its sender. It reaches only portals for which its group was joined ([NI.JoinGroup]): the
// protocols at all others rely on sources.
//
// # Failures
//
// Every NI of this node and every NID of others has a health (package recovery). A failure
// whose class blames an NI lowers the health of that NI. If its class allows it, the message
// is sent again by a path that is chosen anew: up to Config.RetryCount times and before its
// deadline, by a timer of its own. A node with one NI sends nothing again to a peer with one.
//
// A message that is sent again may arrive twice, as in LNet: a PUT whose connection was reset
// (lnd.RemoteDropped) may have arrived before. A message that the peer did not take in time
// (lnd.RemoteTimeout) is not sent again, and neither is one of any other class that kernels
// do not send again. Upper.Sent is called once, however many tries there were, and the memory
// of the message stays in use until then.
//
// Send reports everything through Upper.Sent. Each message that is dropped on
// arrival is counted under its [DropReason], locally: LNet tells the sender
// nothing.
package lnet
