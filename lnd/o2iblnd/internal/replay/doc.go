// Package replay plays one node of a recorded conversation of o2iblnd against
// our stack, and compares what our side says with what the other recorded node
// said in its place.
//
// [Load] reads a capture into a [Script]: packets, in order, taken apart down to the LNet
// header. A [Player] takes the part of one node. It sends what that node sent, byte for byte,
// each packet when everything recorded before it has happened; see [Player] for what it makes
// itself. What the node under test sends must be equal to what was recorded, byte for byte,
// except for a short list of differences with reasons, see Differences.
//
// The numbers that the recorded node chose (comm ids, queue pairs, PSNs, keys, addresses,
// cookies, its incarnation) must be given to the node under test, see [Script.Numbers]. Then no
// number has to be translated, and the player's bytes are those of a kernel.
//
// The package consists of tests only. One goroutine steps a Player; packets may arrive from any
// goroutine.
//
// TestProgress plays nothing: it lets whole stacks of ours talk in virtual time.
//
// TestSelftest runs a whole node above the driver; its lnet_selftest takes the place of the
// lnet_selftest on a recorded node.
package replay
