package kit_test

import (
	"bytes"
	"testing"

	"ulnet/lnd/sim/scenario/kit"
)

// FuzzMessage: a message that was parsed is encoded to the same bytes again.
func FuzzMessage(f *testing.F) {
	const last = kit.Codec(3)
	for _, m := range []*kit.Message{{}, {Kind: 1, Data: []byte("headdata")}, {Kind: 3}} {
		f.Add(last.Append(nil, m))
	}
	f.Add([]byte{byte(last) + 1, 1, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := last.Parse(b)
		if err != nil {
			return
		}
		if again := last.Append(nil, m); !bytes.Equal(again, b) {
			t.Errorf("%x is written as %x", b, again)
		}
	})
}
