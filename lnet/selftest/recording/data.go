package recording

import (
	"bytes"

	"ulnet/lnet/selftest/wire"
)

const (
	page = 4096
	word = 8
)

// AdaptData returns the bulk data that our node must send in the place of recorded ones, with these
// match bits. selftest §7: with SIMPLE only the words at 4096·k and 4096·k+4088 are magic and all other
// bytes are whatever the page held (never check them); with NONE all bytes are such leftovers.
func (d *Differences) AdaptData(bits uint64, recorded, ours []byte) (want []byte) {
	check, known := d.checks[bits]
	if !known || len(recorded) != len(ours) || check == wire.CheckFull {
		return recorded
	}
	want = bytes.Clone(ours)
	if check != wire.CheckSimple {
		return want
	}
	for at := 0; at+word <= len(want); at += page {
		copy(want[at:at+word], recorded[at:])
		if last := at + page - word; last+word <= len(want) {
			copy(want[last:last+word], recorded[last:])
		}
	}
	return want
}
