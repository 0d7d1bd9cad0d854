package drivers_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/drivers"
	"ulnet/lnd"
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

// TestAll: each field of Set is an element of All.
func TestAll(t *testing.T) {
	if fields, all := reflect.TypeFor[drivers.Set]().NumField(), len(new(drivers.Set).All()); fields != all {
		t.Errorf("Set has %d drivers, and All returns %d", fields, all)
	}
}

// TestShownAreTunables: what a driver shows for an NI are its tunables, or names that have a meaning only in kernels (Shown).
func TestShownAreTunables(t *testing.T) {
	kernels := strings.Fields("map_on_demand fmr_pool_size fmr_flush_trigger fmr_cache") // of o2iblnd
	for _, d := range new(drivers.Set).All() {
		for _, word := range strings.Fields(d.Shown()) {
			name, _, _ := strings.Cut(word, "=")
			known := slices.ContainsFunc(d.Tunables(), func(tunable lnd.Tunable) bool { return tunable.Name == name })
			if !known && !slices.Contains(kernels, name) {
				t.Errorf("%s shows %s, which is none of its tunables", d.Name(), name)
			}
		}
	}
}

// TestOwnNone: the error about a tunable of one NI says that the driver has none, if it shows none.
func TestOwnNone(t *testing.T) {
	_, _, err := drivers.Own(unshown{Driver: new(drivers.TCP)}, map[string]int{"turn": 1})
	if err == nil || !strings.HasSuffix(err.Error(), "it has none") {
		t.Error(err)
	}
}

// unshown is a driver that shows no tunables for an NI.
type unshown struct{ drivers.Driver }

func (unshown) Shown() string { return "" }
