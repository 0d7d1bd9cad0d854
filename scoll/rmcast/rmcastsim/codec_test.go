package rmcastsim

import (
	"bytes"
	"testing"
)

// FuzzMessage: what is parsed has the same form again.
func FuzzMessage(f *testing.F) {
	for _, m := range []*message{{}, newMessage(Repair, []byte("head"), []byte("data")), {kind: Order}} {
		f.Add(codec{}.Append(nil, m))
	}
	f.Add([]byte{byte(Order) + 1, 1, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := codec{}.Parse(b)
		if err != nil {
			return
		}
		if again := (codec{}).Append(nil, m); !bytes.Equal(again, b) {
			t.Errorf("%x is written as %x", b, again)
		}
	})
}
