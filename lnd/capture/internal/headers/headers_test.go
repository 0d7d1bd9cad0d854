package headers_test

import (
	"testing"

	"ulnet/lnd/capture/internal/headers"
)

// TestWindowScale: the option is found among others, and lists that are cut short are read without it.
func TestWindowScale(t *testing.T) {
	for _, tt := range []struct {
		options []byte
		shift   int
		ok      bool
	}{
		{nil, 0, false},
		{[]byte{3, 3, 7, 0}, 7, true},
		{[]byte{2, 4, 5, 180, 4, 2, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 3, 3, 9}, 9, true}, // as Linux sends them
		{[]byte{1, 3, 3, 0}, 0, true},
		{[]byte{3, 3, 200, 0}, 14, true}, // RFC 7323 section 2.3
		{[]byte{0, 3, 3, 7}, 0, false},
		{[]byte{2, 4, 5, 180}, 0, false},
		{[]byte{3, 3}, 0, false},
		{[]byte{8, 0, 3}, 0, false},
		{[]byte{8, 255, 3, 3, 7}, 0, false},
	} {
		tcp := headers.TCP{Options: tt.options}
		if shift, ok := tcp.WindowScale(); shift != tt.shift || ok != tt.ok {
			t.Errorf("%v: %d, %v", tt.options, shift, ok)
		}
	}
}
