// Package replay plays recorded conversations of kernel nodes against our stack (lnet,
// portals, discovery, routes) in virtual time, in the place of one of the nodes: with several
// rails, as an end of a routed net, and as a router.
//
// The replayed node gets every message that it got in the recording, when it got it, by
// the NI that it came by. What its users did (pings, selftest) is done again, from the NID and
// to the NID that the kernel chose: which rail a message takes is a matter of round robin,
// and where one was dropped at random is not known. Everything else the stack does by itself:
// answers with their source, discovery with its pings and pushes, ping infos with the
// status of each NI, what is forwarded. It is compared with what the kernel sent: kinds,
// NIDs, portals, lengths, the next hop of each message, the NIDs that HELLOs of the
// connections carry, and the outcome of what users did.
//
// A handle that a recorded answer names is that of the recorded node; the player puts the one
// there that our node sent in its place.
//
// All of it is tests.
package replay
