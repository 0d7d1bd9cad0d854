package main

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"ulnet/lnet/selftest/wire"
)

// keyOf returns the key of a session that the variable LST_SESSION stands for. 0 is no valid key. If the
// variable is a text that is no number, the key is computed from the text, so that all commands with the
// same text have the same key; if it is empty, from the user's id. With Lustre's tool the key of such a
// text depends on the run.
func keyOf(text string, uid int) uint32 {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return uint32(n)
	}
	if text == "" {
		text = fmt.Sprintf("user %d", uid)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // cannot fail
	return max(h.Sum32(), 1)
}

// keyNote returns a line for people who begin a session without LST_SESSION, if they are at a
// terminal, and nothing otherwise.
func keyNote(text string, terminal bool) string {
	if !terminal || strings.TrimSpace(text) != "" {
		return ""
	}
	return "  LST_SESSION is not set: every shell of this user without it can change the session; 'export LST_SESSION=$$' first makes it yours\n"
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
