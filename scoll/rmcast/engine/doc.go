// Package engine has the machines of reliable multicast (Mansoor and Meehan, "Reliable
// Multicast Protocol Using Infiniband Remote Direct Memory Access", here called the seed).
// It speaks of rows RM-1 to RM-36 and of decisions RM-A1 to RM-A22 on it.
// Programs use package scoll/rmcast, whose agent steps machines for them. They are here for
// who steps them himself: simulators, and research on the protocol.
//
// This package is unstable: names and fields change with the protocol's needs, without
// notice. What is sent does not, see package scoll/rmcast/wire.
//
// [Machine] is one member of one group, [Manager] the one who gives out numbers and
// lists of members. Both are values that know no clock and no network: what they want
// done are effects, and what arrives are inputs.
//
//	origin                          every other member
//	multicast, once          ->     deliver, wait for the children in the tree,
//	release when all have it <-     then acknowledge to the parent
//
// # States of a message at a member
//
//	nothing   -> a datagram: here when whole, and delivered, in order if asked for
//	nothing   -> a child acknowledges it, or later datagrams: after a grace, ask a
//	             child that has it, or the parent
//	here      -> all children have it: acknowledged to the parent
//	here      -> a child is late: ask it, and send again what it says it lacks. The
//	             parent is told that we wait, so that it does not ask as well
//	here      -> a child failed: its children are ours
//	any       -> the origin says that all have it: freed
//	any       -> the origin failed: freed
//
// # What is late, and what is lost
//
// A datagram is lost when a later one of its origin has come by multicast: one socket
// brings them in order. What only other members speak of, over connections, may wait in
// that socket, because the thread that reads it has no core. So a member asks for one
// such after a grace of a round trip, or of as long as it has seen datagrams be
// overtaken, and for the others when multicast goes on or 50 ms have passed. An origin
// tells what it has sent last when the acknowledgements take longer than they did.
//
// Patience with children follows the measured mean and deviation of their times to
// acknowledge, for each number of levels below them. A member that gets by multicast what
// it has had as a repair tells so, up the tree: an origin that has halved its limit of
// datagrams in flight for needless repairs alone takes that back (RFC 4015).
//
// # Versions
//
// Each list of members has a version; datagrams carry it, and trees follow from it.
// An origin uses a version when all its members have the list, and begins it when
// nothing of it is in flight: so it has one version at a time, all below the first
// datagram of a version is released, and who joins needs to know no more.
//
// # Managers
//
// One manager makes lists, others stand by (RM-A18). A manager is elected as in Paxos: its
// epoch is its own (the remainder is its place among the managers), members promise it to
// obey no lower one, and tell their newest list; most members of one list have to do so
// without knowing a later one. Before it asks for promises it asks whether it would get them
// (pre-vote), which members deny while they hear another manager; so one that is cut off
// disturbs nobody. Members that have ended, as discovery, an administrator, or a later incarnation
// of their node says, do not count. What a split network means to users is in
// docs/multicast.md.
//
// # Where this is not the letter of the decisions
//
//	fetches      are asked for, and answered with the datagram, by PUTs. That is the
//	             round trip of a GET, but the holder can answer that a message is
//	             stable or not here yet, and nobody reads memory that is reused
//	late         children are asked first, and not sent the payload at once: where hosts
//	             are busy nearly all of them have it. What is sent again is asked for
//	acks         say again what is not stable, as TCP's SACK does
//	numbers      of datagrams count fragments, so that windows, acknowledgements and
//	             requests need no second kind
//	identity     of members over versions is NID and incarnation: two managers may give out
//	             the same number
//	control      messages say which list their sender knows, and wait at a receiver
//	             that does not: otherwise an origin could be done with a message for
//	             which a member counts as failed of whose failure it has not heard
//
// # What is believed
//
// A node speaks for itself, over its own connection; what it says of others is hearsay:
//
//	epochs       of managers count when that manager speaks, or most members report
//	             them. A member whose manager is silent for ten seconds follows one of
//	             a lower epoch that speaks: as another member, unless it has that one's list
//	lists        that members report to a new manager count when most members of one
//	             answer and know no later one
//	failures     and later lives that members report to a new manager are asked of the
//	             member in question; if that answers, most have to say so
//	datagrams    by multicast, which anybody on the network can send in the name of any
//	             origin unless there are keys, are taken for messages. What they say of
//	             others is asked of the origin, and they make way for what comes by a
//	             connection
//	numbers      of epochs and lives that are more than [EpochSlack] above the wall clock
//	             are refused
//
// Nodes that are not on the list of those that may be members, if there is one, are
// refused whatever they say. With keys all messages are signed.
//
// # Bounds
//
// A member keeps at most one window of datagrams for each origin, as far as they are not
// released; where any node can join, 64 MiB for all, of which each origin has its share.
// It keeps at most 256 messages of versions that it does not know yet, or that follow
// from one, half of them of one sender.
package engine
