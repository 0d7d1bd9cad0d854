package drivers_test

import (
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/drivers"
	"ulnet/lnet/nid"
)

// TestHintUnreached: if a driver has no hints of its own and the NID has an IP address, the
// hint names the command that shows the route.
func TestHintUnreached(t *testing.T) {
	for _, c := range []struct{ target, want string }{
		{"10.0.0.1@tcp", "see 'ip route get 10.0.0.1'"},
		{"7@gni", "is 7@gni one of its NIDs?"},
	} {
		hint := drivers.Plain{}.HintUnreached(drivers.Settings{}, nid.MustParse(c.target), syscall.EHOSTUNREACH)
		if !strings.HasSuffix(hint, c.want) {
			t.Errorf("%s: %q, want %q at its end", c.target, hint, c.want)
		}
	}
}
