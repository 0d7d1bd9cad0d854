package o2iblnd

import (
	"testing"

	"ulnet/lnd"
)

// TestSameMemory: sameMemory is true for two payloads with the same bytes of memory, even if their lists cut these into
// different pieces, and false for payloads with other bytes.
func TestSameMemory(t *testing.T) {
	b := make([]byte, 100)
	whole := lnd.Payload{Segments: [][]byte{b}, Length: 100}
	inner := lnd.Payload{Segments: [][]byte{b}, Offset: 10, Length: 50}
	cut := lnd.Payload{Segments: [][]byte{b[:7], b[7:12], nil, b[12:30], b[30:]}, Offset: 10, Length: 60}
	for _, tt := range []struct {
		a, b lnd.Payload
		want bool
	}{
		{whole, whole, true},
		{inner, cut, true},
		{cut, inner, true},
		{whole, inner, false},
		{cut, whole, false},
		{cut, lnd.Payload{Segments: [][]byte{b[10:30], make([]byte, 70)}, Length: 60}, false},
		{cut, lnd.Payload{Segments: [][]byte{b[10:30]}, Length: 60}, false}, // has less memory than its Length says
		{lnd.Payload{}, whole, true},
	} {
		if got := sameMemory(tt.a, tt.b); got != tt.want {
			t.Errorf("%d bytes at %d, %d bytes at %d: %v", tt.a.Length, tt.a.Offset, tt.b.Length, tt.b.Offset, got)
		}
	}
}
