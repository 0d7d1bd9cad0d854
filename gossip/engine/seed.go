package engine

import (
	"hash/fnv"

	"ulnet/lnet/nid"
)

// stream returns the number of a node's stream of random numbers. By it, nodes with the same
// seed, even zero, draw different numbers.
func stream(id nid.NID) uint64 {
	h := fnv.New64a()
	h.Write(id.AppendTo(nil))
	return h.Sum64()
}
