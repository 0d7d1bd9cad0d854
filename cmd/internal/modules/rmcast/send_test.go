package rmcast

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/config"
)

// TestLongestMessage: messages have up to MaxMcast bytes, as lines and otherwise, with a newline at the end and without.
// A longer one is refused, because listeners would not show all of it.
func TestLongestMessage(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines bool
		end   string
		more  string // lines after the longest one
	}{
		{"whole", false, "", ""},
		{"a line", true, "\n", ""},
		{"the last line without a newline", true, "", ""},
		{"one of several lines", true, "\n", "x\ny"},
	} {
		for over := range 2 {
			var sizes []int
			in := strings.Repeat("x", config.MaxMcast+over) + tt.end + tt.more
			err := eachMessage(strings.NewReader(in), tt.lines, func(b []byte) error {
				sizes = append(sizes, len(b))
				return nil
			})
			if over > 0 && (!errors.Is(err, syscall.EMSGSIZE) || len(sizes) > 0) {
				t.Errorf("%s, one byte more: %v, sent %v", tt.name, err, sizes)
			}
			if over == 0 && (err != nil || len(sizes) == 0 || sizes[0] != config.MaxMcast) {
				t.Errorf("%s: %v, sent %v", tt.name, err, sizes)
			}
		}
	}
}
