// Package engine implements the state machines of reliable multicast, after Mansoor and Meehan,
// "Reliable Multicast Protocol Using Infiniband Remote Direct Memory Access", which the
// comments call the design. Rows RM-1 to RM-44 of docs/spec/multicast.md number its
// requirements, RM-A1 to RM-A26 the decisions that this project took beyond it. Programs use
// package scoll/rmcast, whose agent steps these machines; simulators and research on the
// protocol step them directly.
//
// This package is unstable: names and fields may change without notice. The wire format does
// not, see package scoll/rmcast/wire.
//
// A [Machine] is one member of one group. A [Manager] assigns communication numbers and
// publishes lists of members. Both are values without clock, goroutine or network: they take
// inputs and answer with effects.
//
//	origin                          every other member
//	multicast, once          ->     deliver, wait for the children in the tree,
//	release when all have it <-     then acknowledge to the parent
//
// # States of a message at a member
//
//	unknown   -> a datagram arrives: the message is here when it is complete, and is
//	             delivered, in order if the group asks for that
//	unknown   -> a child acknowledges it, or a later datagram arrives: after a grace
//	             period, ask a child that has it, or the parent
//	here      -> all children have acknowledged it: acknowledge to the parent
//	here      -> a child is late: poll it, and resend what it reports as missing. The
//	             parent is told that this member waits, so that it does not resend too
//	here      -> a child has failed: adopt its children
//	any       -> the origin says that all members have it: free it
//	any       -> the origin has failed: free it
//
// # Late and lost datagrams
//
// One socket delivers the multicast datagrams of an origin in order. So a missing datagram is
// lost once a later one of its origin has arrived by multicast. A datagram that is known only
// from other members' control messages, which use other connections, may still wait in the
// socket because the reading thread has no core. A member therefore requests one such datagram
// after a grace period: a round trip, or the longest reordering it has measured. It requests
// the others when multicast goes on, or after 50 ms. An origin repeats how far it has sent (a
// tail probe) when acknowledgements take longer than usual.
//
// The timeout for a child follows the measured mean and deviation of acknowledgement times,
// kept for each height of a subtree (RFC 6298). A member that gets by multicast what it already
// had from a repair reports the repair as needless, up the tree. An origin that has halved its
// limit of datagrams in flight only for needless repairs restores it (Eifel response, RFC
// 4015).
//
// # Several messages in one
//
// A datagram costs the same whatever its length. Messages that wait for room in the window, or
// for the pace, and then leave together share datagrams; so do those that are resent together,
// and those whose sends wait to be applied, see [Merge]. No message waits for others to come. All that
// a member says to another one in a step is one control message. Acknowledgements that are delayed go
// with it, or with data by PUT.
//
// # Versions
//
// Each list of members has a version. Datagrams carry it, and all members compute the same
// trees from the list. An origin may use a version once all members on its list have that list,
// and switches to it when it has nothing in flight. So an origin uses one version at a time,
// everything below the first datagram of a version is released, and a new member needs no
// earlier state.
//
// # Managers
//
// One manager publishes lists, the others stand by (RM-A18). Elections work as in Paxos. Each
// manager has epochs of its own: the epoch modulo the number of managers is the manager's
// index. Members promise a manager to obey no lower epoch, and report their newest list. A
// majority of the members of one list must promise, and must not know a later list. Before it asks
// for promises, a manager asks whether it would get them (pre-vote); members answer no while
// they hear another manager, so a manager that is cut off does not disturb the group. Members
// that have ended do not count: discovery, an administrator or a later incarnation of their node
// has reported that. Discovery may report deaths with doubt, as gossip does first for nodes that are
// only cut off; these count when it is certain. docs/multicast.md describes what users see when the network is
// partitioned.
//
// # Differences from the decisions
//
//	repairs      A repair is requested and answered by PUTs, not fetched by a GET. The
//	             round trip is the same, but the member that is asked can answer that the
//	             message is stable or has not arrived yet, and no GET reads memory that
//	             is used again for another message
//	late         A late child is polled before the payload is resent: on busy hosts nearly
//	             all late children have it. Payload is resent on request only
//	acks         An acknowledgement repeats the ranges that are not stable yet, as TCP's
//	             SACK blocks do
//	numbers      A sequence number counts fragments, so that windows, acknowledgements and
//	             requests share one numbering
//	identity     A member is identified across versions by NID and incarnation, because two
//	             managers may assign the same communication number
//	control      A control message names the version of the newest list that its sender
//	             knows. A receiver that does not know that list holds the message back, so
//	             that an origin does not release a message before it knows which members
//	             count as failed for it
//
// # What is trusted
//
// A node speaks for itself over its own connection. What it says about other nodes is not
// trusted by itself:
//
//	epochs       The epoch of a manager counts when that manager sends it, or when more than
//	             half of the members report it. A member whose manager is silent for ten
//	             seconds obeys a manager of a lower epoch that sends: it joins again as a
//	             new member, unless it already has that manager's list
//	lists        A list that members report to a new manager counts when more than half of
//	             the members on it answer and know no later list
//	failures     If members report to a new manager that a member has failed or has a later
//	             incarnation, the manager asks that member. If it answers, the report counts
//	             only if more than half of the members make it
//	datagrams    Without keys, any host on the network can forge multicast datagrams. The
//	             payload of a multicast datagram is accepted. What it says about other
//	             messages is confirmed with the origin, and a datagram that came by a
//	             connection replaces it
//	numbers      Epochs and incarnations more than [EpochSlack] above the wall clock are
//	             refused
//
// If the group lists its possible members, all other nodes are refused. With keys, all messages
// are signed.
//
// # Bounds
//
// A member keeps at most one window of unreleased datagrams for each origin. In a group that
// any node can join, it keeps at most 64 MiB for all origins, of which each has a guaranteed
// share. It holds at most 256 messages that need a version it does not know yet, half of them
// from one sender.
//
// A new manager has at most 4*Members queries open: up to 2*Members for members that others name, and at most two for the
// incarnations that one node reports of itself.
package engine
