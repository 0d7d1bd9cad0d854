package engine

import (
	"encoding/binary"
	"math/bits"

	"ulnet/lnet/selftest/wire"
)

// MaxLength is the largest length of the bulk data of one RPC, in bytes.
const MaxLength = 1 << 20

const bulkMagic uint64 = 0xeeb0eeb1eeb2eeb3

const (
	pageSize = 4096
	word     = 8
)

// Fill writes the pattern of bulk data into b, whose length is a multiple of 8: the magic in every 8 bytes. That
// satisfies receivers that check all of it, and those that check the first and last 8 bytes of each page, whatever the
// size of their pages. Without a check Fill does nothing.
func Fill(b []byte, check wire.Check) {
	if check != wire.CheckSimple && check != wire.CheckFull {
		return
	}
	for ; len(b) >= word; b = b[word:] {
		binary.LittleEndian.PutUint64(b, bulkMagic)
	}
}

// Verify reports whether bulk data have the pattern of a sender with the given byte order.
// CheckSimple looks at the first and last 8 bytes of each 4096.
func Verify(b []byte, check wire.Check, bigEndian bool) bool {
	want := bulkMagic
	if bigEndian {
		want = bits.ReverseBytes64(want)
	}
	is := func(at int) bool { return binary.LittleEndian.Uint64(b[at:]) == want }
	step := word
	switch check {
	case wire.CheckSimple:
		step = pageSize
	case wire.CheckFull:
	default:
		return true
	}
	for at := 0; at+word <= len(b); at += step {
		if !is(at) || check == wire.CheckSimple && !is(min(at+pageSize, len(b)&^(word-1))-word) {
			return false
		}
	}
	return true
}
