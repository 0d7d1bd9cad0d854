package main

import (
	"hash/fnv"
	"strconv"
	"strings"

	"ulnet/lnet/selftest/wire"
)

// keyOf returns the key of a session that the variable LST_SESSION stands for. 0 is no valid key.
// A text that is no number stands for a number that is made of it, also an empty one, so that
// all commands with the same text have the same key. Lustre's tool takes any number for it.
func keyOf(text string) uint32 {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return uint32(n)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // cannot fail
	return max(h.Sum32(), 1)
}

// featuresOf returns the features of a new session that the variable LST_FEATURES stands for, a
// hexadecimal number. Without the variable that are all that are known.
func featuresOf(text string) (wire.Features, error) {
	if text == "" {
		return wire.KnownFeatures, nil
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(text), "0x"), 16, 32)
	if err != nil {
		return 0, failf("Invalid LST_FEATURES %s: use a hexadecimal number, such as %x", text, uint32(wire.KnownFeatures))
	}
	if more := wire.Features(n) &^ wire.KnownFeatures; more != 0 {
		return 0, failf("Unsupported session features %x, only support these features so far: %x", n, uint32(wire.KnownFeatures))
	}
	return wire.Features(n), nil
}
