package recording

import (
	"bytes"

	"ulnet/lnet/selftest/wire"
)

const (
	page = 4096
	word = 8
)

// leftovers are the words of docs/spec/selftest.md, section 7, that allow data to differ.
const leftovers = "with SIMPLE only the words at 4096·k and 4096·k+4088 are magic and all other bytes are whatever the page held (zero in the captures; never check them); with NONE all bytes are such leftovers."

// AdaptData returns the bulk data that a replay expects of our node where the recorded node sent the data
// recorded, which begin at byte offset of the transfer with match bits bits. In bytes that the test does not
// check (see leftovers) these are ours, which our node sends; all other bytes must be as recorded. offset is a
// multiple of 8.
func (d *Differences) AdaptData(bits uint64, offset int, recorded, ours []byte) (want []byte) {
	check, known := d.checks[bits]
	if !known || len(recorded) != len(ours) || check == wire.CheckFull {
		return recorded
	}
	want = bytes.Clone(ours)
	if check != wire.CheckSimple {
		return want
	}
	for at := 0; at < len(want); at += word {
		if in := (offset + at) % page; in == 0 || in == page-word {
			copy(want[at:min(at+word, len(want))], recorded[at:])
		}
	}
	return want
}
