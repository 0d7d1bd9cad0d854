// Package simlnd is a driver whose network is a simulated one (lnd/sim): whole
// stacks of portals, lnet and discovery run on it in virtual time, by the
// thousand and in one goroutine.
//
// A [Fabric] has hosts. Every incarnation of a host begins with Config.Boot, which
// builds a stack on the host's clock and driver:
//
//	fabric, err := simlnd.New(simlnd.Config{Nodes: 1000, Seed: 1, Boot: func(h *simlnd.Host, _ *simlnd.Host) {
//		node := lnet.New(lnet.Config{Incarnation: h.LNetIncarnation(), Clock: h.Clock()})
//		table := portals.New(node)
//		_, err := node.AddNI(h.Driver(), lnd.Config{Net: simlnd.Net})
//		...
//	}})
//	err = fabric.Run(10 * time.Second)
//
// Host i is 10.x.y.z@tcp, where x.y.z is i+1: see [NID] and [Node]. A host has up to
// [MaxRails] rails, which lnd.Config.Interface names "eth0", "eth1" and so on: an NI on
// another rail is 11.x.y.z and so on. Every rail reaches every other on the same net, unless
// one of the two is cut ([Fabric.CutRail]).
//
// # What happens to a message
//
// An NI keeps one connection to each NI of a peer to which it sends. The first message opens
// the connection, with a message in each direction as TCP does; until it is open, messages
// wait. Up to Config.Window bytes of a connection are on their way. Further messages wait until
// the peer has taken some. A message that goes to the network is finalized: it has left.
// Priority messages have a window of their own, as on socklnd's CONTROL connection.
//
// Links lose, duplicate and reorder whole messages. Unlike above TCP, LNet sees these faults,
// because tests of the upper layers need them. The sender is not told. Only the messages that
// open a connection, and those about its window, are repeated.
//
//	what happens                     what the sender's lnet is told
//	the process there is down        waiting messages fail, PeerDown: ECONNREFUSED
//	it dies                          ECONNRESET likewise, one latency later
//	the host is silent for           ETIMEDOUT likewise; the sender asks a silent
//	Tunables.Timeout                 host for a sign after half of that time
//	it is there and takes nothing    ETIMEDOUT likewise
//	for as long
//	no host has the NID              EHOSTUNREACH at once
//
// A connection belongs to one incarnation of each host. A message to an earlier
// incarnation, or on a connection that one side has closed, is never delivered; the
// host answers it with a reset, as TCP does.
//
// A message that lnet holds keeps later messages of its connection waiting: a priority message
// only other priority messages, and any other message only messages without priority. The waiting
// messages take room in the sender's window, which bounds them.
//
// # Multicast
//
// A datagram to a group (lnd.Multicaster) occupies the link of its sender once;
// from there on each member's copy is delayed and lost on its own. It needs no
// connection, is never repeated, and a member that cannot take it loses it silently.
// Links that a topology shares carry every copy.
//
// # Threads
//
// One goroutine at a time runs the fabric; handlers and timers run in it. The methods of a
// stack may be called from anywhere at any time, as with other drivers. But a call from outside
// of a handler or timer happens at the time of the host's latest step: use [Host.Do], which
// makes a step. Shut a single stack down from Do, from Fabric.At, or while the fabric does not
// run. No time passes in Shutdown: messages that wait on an open connection leave at once.
package simlnd
