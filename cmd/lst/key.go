package main

import (
	"hash/fnv"
	"strconv"
	"strings"

	"ulnet/lnet/selftest/wire"
)

// keyOf returns the key of a session for the value of the variable LST_SESSION. 0 is no valid key.
// If the value is not a number, even if it is empty, the key is a hash of it, so that all commands
// with the same value have the same key.
func keyOf(text string) uint32 {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return uint32(n)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // cannot fail
	return max(h.Sum32(), 1)
}

// featuresOf returns the features of a new session for the value of the variable LST_FEATURES, a
// hexadecimal number. If the variable is empty, it returns all known features.
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
