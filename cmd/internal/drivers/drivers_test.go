package drivers_test

import (
	"errors"
	"fmt"
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

// TestHintStart: if an NI cannot be started, the hint is about the cause of the error, whatever the driver is.
func TestHintStart(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("start: %w", syscall.EEXIST), "'lnetctl net del' removes it"},
		{fmt.Errorf("start: %w", syscall.EADDRNOTAVAIL), "not on this machine"},
		{fmt.Errorf("start: %w", syscall.EMFILE), "ulimit -n"},
		{fmt.Errorf("start: %w", syscall.ENFILE), "fs.file-max"},
		{errors.New("no such interface"), "'ip address' lists"},
	} {
		for name, d := range map[string]interface {
			HintStart(drivers.Settings, error) string
		}{"tcp": new(drivers.TCP), "o2ib": new(drivers.O2IB), "plain": drivers.Plain{}} {
			if got := d.HintStart(drivers.Settings{}, test.err); !strings.Contains(got, test.want) {
				t.Errorf("%s: %v: %q, want %s", name, test.err, got, test.want)
			}
		}
	}
}
