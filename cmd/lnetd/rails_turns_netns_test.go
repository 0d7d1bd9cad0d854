//go:build linux

package main_test

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// TestRailsInTurn: two rails carry the same number of messages.
func TestRailsInTurn(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "SP-4")
	onFirst(t, func(t *testing.T, on network) {
		r := newRails(t, on)
		if err := r.put(); err != nil { // makes each of the two nodes discover the other
			t.Fatal(err)
		}
		before := r.sent()
		const puts = 20
		for range puts {
			if err := r.put(); err != nil {
				t.Fatal(err)
			}
		}
		now := r.sent()
		for i := range now { // allow for messages that discovery may still send
			if n := now[i] - before[i]; n < puts/2-1 || n > puts/2+2 {
				t.Errorf("of %d messages %d went by rail %d", puts, n, i)
			}
		}
	})
}
