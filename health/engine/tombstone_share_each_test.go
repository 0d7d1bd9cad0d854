package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestShareOfTwoIncarnations: CH-65: a node leaves tombstones of two incarnations for each of many invented ids. When there is
// no room, its oldest tombstones are removed, and not the newest of its group of NIDs.
func TestShareOfTwoIncarnations(t *testing.T) {
	spec.Covers(t, "CH-65")
	const room = 160
	var g tombstones
	g.init(room)
	at := time.Duration(0)
	bury := func(id wire.ClientID, incarnation uint64, of nid.NID) uint64 {
		at++
		return g.bury(id, incarnation, at, of, 0)
	}
	for n := range byte(120) {
		bury(wire.ClientID{1, n}, 1, stranger.NID)
		bury(wire.ClientID{1, n}, 2, stranger.NID)
	}
	for n := range byte(40) {
		bury(wire.ClientID{2, n}, 1, nid.FromNumber(host.NID.Net(), 20<<24+uint32(n)))
	}
	newest := wire.ClientID{3}
	forgot := bury(newest, 1, stranger.NID)
	if _, ok := g.of(newest, 1); !ok {
		t.Error("the newest tombstone is removed")
	}
	if n := g.counts[shareOf(stranger.NID)]; n > room/partOfOne {
		t.Errorf("%d clients of that node are left", n)
	}
	left := uint64(0)
	for id := range g.incarnations {
		left += uint64(len(g.list(id)))
	}
	if forgot != 281-left {
		t.Errorf("%d are left, and %d counted as removed", left, forgot)
	}
}
