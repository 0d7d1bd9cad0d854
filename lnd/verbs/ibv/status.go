//go:build ibverbs && cgo && linux

package ibv

import "ulnet/lnd/verbs"

// statusOf is the status of an IBV_WC_* number: package verbs uses the same numbers.
func statusOf(wc uint32) verbs.Status {
	if wc > 0xFF {
		return verbs.General
	}
	return verbs.Status(wc)
}
