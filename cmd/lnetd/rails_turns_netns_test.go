//go:build linux

package main_test

import (
	"testing"
	"time"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
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
		r.a.Until(60*time.Second, "each node knows both NIDs of the other", func() bool {
			known := func(d *lnetdtest.Daemon, of [2]nid.NID) bool {
				return r.known(d, of[0]) == "up" && r.known(d, of[1]) == "up"
			}
			return known(r.a, r.bb) && known(r.b, r.aa)
		})
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
