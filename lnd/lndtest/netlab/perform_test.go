//go:build linux

package netlab_test

import (
	"errors"
	"slices"
	"testing"

	"ulnet/lnd/lndtest/netlab"
)

func TestPerform(t *testing.T) {
	own := errors.New("own")
	tests := []struct {
		name    string
		f       func(netlab.T) error
		want    string
		skipped bool
	}{
		{"success", func(netlab.T) error { return nil }, "", false},
		{"error", func(netlab.T) error { return own }, "own", false},
		{"lab fails", func(s netlab.T) error { s.Fatalf("host %d", 1); return nil }, "host 1", false},
		{"no lab here", func(s netlab.T) error { s.Skipf("no %s", "privilege"); return nil }, "no privilege", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var order []int
			err := netlab.Perform(func(s netlab.T) error {
				s.Cleanup(func() { order = append(order, 1) })
				s.Cleanup(func() { order = append(order, 2) })
				return tt.f(s)
			})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if _, skipped := errors.AsType[*netlab.SkipError](err); got != tt.want || skipped != tt.skipped {
				t.Errorf("got %q, skipped %v", got, skipped)
			}
			if !slices.Equal(order, []int{2, 1}) {
				t.Errorf("cleaned up in order %v", order)
			}
		})
	}
}

func TestPerformLetsOurPanicsThrough(t *testing.T) {
	defer func() {
		if got := recover(); got != "bug" {
			t.Errorf("recovered %v", got)
		}
	}()
	_ = netlab.Perform(func(netlab.T) error { panic("bug") })
}
