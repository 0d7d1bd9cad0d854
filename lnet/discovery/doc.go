// Package discovery lets nodes find out about each other: who they are, and
// which NIDs belong to one node. It is a user of the portal API like any
// other, on portal 0.
//
// A ping is a GET of a node's ping info: its features, its pid, its NIDs with
// their states, and a sequence number that grows with each change. A push is a
// PUT of the same to a node that should know.
//
// Before the first PUT or GET to a node, lnet keeps the message and asks the
// [Agent], whose [Machine] does what kernel nodes do:
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
// LNet knows no secrets: what a node says of itself is believed, also when it
// claims the NIDs of another. The table of peers and everything that others can make
// it keep is bounded ([Limits]), and what is refused is counted ([Stats]).
//
// [Ping] asks once and changes nothing; [NewTarget] alone makes a node that
// answers pings and takes no part in discovery.
package discovery
