package engine

import (
	"hash/fnv"

	"ulnet/lnet/nid"
)

// stream is the stream of random numbers of a node: nodes with the same seed, which may be
// zero, must not draw alike.
func stream(id nid.NID) uint64 {
	h := fnv.New64a()
	h.Write(id.AppendTo(nil))
	return h.Sum64()
}
