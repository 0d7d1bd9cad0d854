// Package replay plays one node of a recorded conversation of o2iblnd against
// our stack, and compares what our side says with what the other recorded node
// said in its place.
//
// [Load] reads a capture into a [Script]: packets, in order, taken apart down to
// the LNet header. A [Player] takes the part of one node. It sends what that node
// sent, byte for byte, each packet when everything recorded before it has
// happened; see [Player] for what it makes itself. What comes from the node under
// test must be what was recorded, byte for byte, but for a short list of
// differences with reasons, see Differences.
//
// The numbers that the recorded node chose (comm ids, queue pairs, PSNs, keys,
// addresses, cookies, its incarnation) are to be given to the node under test,
// see [Script.Numbers]: then nothing has to be translated, and the player's bytes
// are those of a kernel.
//
// All of it is tests. A Player is stepped by one goroutine; packets may arrive from
// any.
package replay
