// Package path chooses the path of a message: the local NI by which it leaves, the NID
// of the next hop, and the NID of the destination. It is LNet's
// lnet_select_pathway and what that calls (lib-move.c), as one pure function over
// values: [Choose] changes nothing, waits for nothing and allocates nothing. [Explain]
// tells for each candidate why it lost.
//
// The state that the choice reads is kept outside: a [Local] for each NI
// of this node, a [Remote] for each NID of other nodes, a [Gateway] for each
// route. Their fields are atomics, so a choice takes no lock. If a value changes during a
// choice, the choice may use the old one or the new one. The zero value of each of these types
// means healthy, up and without priority.
//
// # Order of preference
//
// A local NI: link up, higher health, lower priority value, more credits available, least
// recently used. A peer NI: not reported as down by its node, higher health, lower priority
// value, preferred for the local NI, fewer messages under way, least recently used. (LNet
// compares the credits that are left instead of the messages under way. The order is the same,
// because all NIs of a net give each peer NI the same number of credits.) A net: a link of ours
// that is up, higher health of the peer's best NI on it and then of ours, lower priority value, least
// recently used. A route: alive, a link of ours that is up, preferred, lower priority value, fewer hops,
// fewer queued bytes and messages at its gateway's NI, least recently used. A net that both nodes
// are on comes before routes to other NIDs of the peer, unless only a route has a link that is up.
//
// LNet compares the peer's health before it looks at our link. A message for which it has chosen an NI whose link
// is down goes to the driver, and is sent again when the driver fails. Here a PUT or GET fails at once if the link of
// the chosen NI is down. So a net on which our link is up is chosen first.
//
// LNet compares the distance of an NI to GPU and memory (NUMA) before its
// credits. Here all distances are equal.
//
// A peer's NI that is down is chosen if nothing else is left, because the news that it is up again may
// come late. If the links of all our NIs that fit are down, one of these is chosen all the same, and a PUT
// or GET fails with the reason why the link is down. A route that is down is never chosen, except for the
// answer to a request that came by its gateway.
//
// # Order of messages
//
// A destination with one path gets messages in the order in which they were sent. Over several
// rails there is no order: each message takes the path that is best for it.
package path
