// Package discovery lets nodes find out about each other: their features, and which
// NIDs belong to one node. It uses the portal API like any other program, on portal 0.
//
// A ping is a GET of a node's ping info: its features, its pid, its NIDs with
// their states, and a sequence number that grows with each change. A push is a
// PUT of the same to a node that should know.
//
// Before the first PUT or GET to a node, lnet keeps the message and asks the
// [Agent], whose machine (package engine below this one) does what kernel nodes do:
//
//	A                             B
//	GET portal 0, 272 bytes  ->
//	                         <-   REPLY with B's info
//	PUT of A's info          ->        if B is multi-rail and discovers too
//	                         <-   ACK; PUT of B's info, in either order
//	the message              ->        as soon as the ACK is in
//	ACK of B's push          ->
//
// B does not ping A: the push told it A's NIDs. With a node that has no
// discovery the exchange ends after the REPLY, and each of its NIDs is a peer
// of its own. When the NIs of a node change, it pushes to all peers that it
// knows to be multi-rail.
//
// # Whose NIDs are whose
//
// A ping info proves nothing about NIDs other than the one at the other end of the
// connection that brought it. Kernels accept the whole list. Here another NID that an
// info lists is a claim. It becomes the node's own when the claimed NID was pinged and
// its answer, which comes by a connection to that NID, lists the NID that the claim came from
// (return routability):
//
//	A                             B1, B2: one node
//	GET to B1                ->
//	                         <-   REPLY from B1: B1, B2
//	GET to B2                ->                     a probe, beside the push
//	                         <-   REPLY from B2: B1, B2
//
// Where the node has routes, NIDs beyond gateways are probed as well. Such a probe goes by a
// gateway, which brings its answer, so it proves what that gateway says: the operator has
// chosen to trust it for the nets that it leads to. For the same reason, a NID that a gateway
// lists itself counts as its own without a probe, if this node is not on that net and no other
// peer has the NID. This node needs these NIDs, because the states of a gateway's far NIs
// decide whether its routes are alive. On a net of this node, a gateway is trusted no more than
// any other peer. See docs/security.md.
//
// When the claim is confirmed, both NIDs become one peer, whose primary NID is the first of
// the list. Until then each NID is a peer of its own, and a claim is only displayed
// (lnet.Peer.Claimed): it merges and renames no peer and changes no path. Only the states of NIDs that a
// gateway claims count, for its routes. A NID that neither an
// NI of this node nor a route reaches is never pinged and stays a claim; so the primary NID is
// the first of the list that could be pinged.
//
// A ping or push without an answer is repeated after 3 s, and then each time after twice as long,
// to the next NID of the peer: until [Limits].Timeout if a message or call waits for it, otherwise
// five times. A peer that still lacks this node's latest info gets another push with the next message to it, once in 96 s at
// most; the message does not wait for the ACK. Kernels send each ping and push once, but a message may be lost with its
// connection, and they let messages wait for each push.
//
// A probe is an ordinary ping. Nodes with one NID cause no probes. Other nodes cause one for
// each further NID when this node discovers them, when they list the NID anew, and when they have
// restarted. An info causes one probe of each NID that it claims. For each peer there is a
// burst of at most 16 probes and then one a second; at any time at most four of a peer and
// [Limits].MaxProbes in all are under way. One that is not answered in 5 s is repeated after 2,
// 4, 8 and 16 s. The first message to a node waits for its probes, but not for longer than a
// second.
//
// An info whose sequence number is lower than that of the latest one from the same
// NID in the same incarnation (portals.Event) is old and ignored. An equal one is
// taken: routers change statuses under one number. A new incarnation begins anew,
// and what was confirmed of that NID before is to be confirmed again. Only infos show it: if a node starts again, sends none,
// and is not pinged, its NIDs stay one peer, as in LNet. Processes
// with a user-flagged PID share the address of a node and say nothing about it.
//
// The agent checks the gateways of the node's routes (package route below lnet): it forces the
// discovery of each once in Config.CheckInterval, on each net that it shares with this node, and
// tells lnet whether it has answered within Config.CheckTimeout.
//
// The table of peers and everything that others can make it keep is bounded
// ([Limits]), and what is refused is counted ([Stats]).
//
// [Ping] asks once and changes nothing; [NewTarget] alone makes a node that
// answers pings and takes no part in discovery.
package discovery
