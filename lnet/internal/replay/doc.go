// Package replay plays recorded conversations of kernel nodes against our stack (lnet,
// portals, discovery, routes) in virtual time, in the place of one of the nodes: with several
// rails, as an end of a routed net, and as a router.
//
// The replayed node gets every message of the recording at the same time and by the same NI.
// What its users did (pings) is done again, from the NID and to the NID that the kernel chose. The
// stack cannot choose these itself: rails are used in turn, and the recording does not show where
// a message was dropped at random. Where the recorded nodes have lnet_selftest, ours has it too,
// with the commands that the recorded console got. It sends its requests on rails of its own
// choice, and gets the answers on these; what it sends is compared to the byte (package
// lnet/selftest/recording has the exceptions). The stack does everything else by
// itself: answers with their source, discovery with its pings and pushes, ping infos with the
// status of each NI, forwarding. The result is compared with what the kernel sent: kinds, NIDs,
// portals, lengths, the next hop of each message, the NIDs in the HELLOs of the connections,
// and the outcome of what users did.
//
// A recorded answer names a handle of the recorded node; the player replaces it by the handle
// that our node sent.
//
// The package consists of tests only.
package replay
