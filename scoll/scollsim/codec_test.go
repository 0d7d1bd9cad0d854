package scollsim

import (
	"bytes"
	"testing"
)

// FuzzMessage: a message that parses is encoded to the same bytes again.
func FuzzMessage(f *testing.F) {
	for _, m := range []*message{
		{},
		{fields: fields{Kind: Reply, Bits: 7}, data: []byte("header"), trailer: []byte("trailer"), payload: []byte("payload")},
		{fields: fields{Kind: Data, List: true, Offset: 5, Length: 9, ID: 3, Incarnation: 1}, data: []byte("list")},
	} {
		f.Add(codec{}.Append(nil, m))
	}
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

// TestTruncatedMessage: no proper prefix of a message parses.
func TestTruncatedMessage(t *testing.T) {
	whole := codec{}.Append(nil, &message{fields: fields{Kind: Request}, data: []byte("header"), trailer: []byte("t"), payload: []byte("p")})
	for i := range whole {
		if _, err := (codec{}).Parse(whole[:i]); err == nil {
			t.Errorf("%d of %d bytes are a message", i, len(whole))
		}
	}
}
