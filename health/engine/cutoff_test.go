package engine

import (
	"fmt"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// slowPartition splits five servers into two and three for a while. Discovery takes as long as
// gossip does by default, a different time for each server. That is longer than a master waits
// for its clients (CH-64). A third of the clients reach only the majority, a third only the
// minority, and a third both. With odd seeds messages are delayed to the end of the partition
// instead of lost.
func slowPartition(t *testing.T, seed uint64, lasts time.Duration) (w *world, reach map[*client]int) {
	w = populated(t, seed, 45)
	w.detect = 17 * time.Second
	w.keeps = seed%2 == 1
	for _, s := range w.servers {
		s.quick = w.between(0, 4*time.Second)
	}
	side, reach := map[nid.NID]int{w.servers[0].id: 1, w.servers[1].id: 1}, map[*client]int{}
	for _, s := range w.servers[2:] {
		side[s.id] = 2
	}
	for i, c := range w.clients {
		reach[c] = i%3 + 1 // side that the client reaches: 1 majority, 2 minority, 3 both
		side[c.id] = reach[c]
	}
	w.run(time.Second)
	w.run(w.between(0, 5*time.Second))
	w.log("partition")
	w.cut = func(a, b nid.NID) bool { return side[a]&side[b] == 0 }
	w.run(lasts)
	w.heal()
	w.doubt()
	w.run(45 * time.Second)
	w.doubt()
	w.run(75 * time.Second)
	return w, reach
}

// TestSlowPartition: CH-33, CH-64, CH-A13, CH-A20, goal G-CH-6: a master that is cut off evicts
// clients that are connected to the majority, before discovery reports the partition. None of
// these clients has to begin a new incarnation, however long the partition lasts. Evictions that
// most servers have made remain, and in the end all servers agree.
func TestSlowPartition(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-64", "CH-A13", "CH-A20", "G-CH-6")
	lasts := []time.Duration{12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 23, 26, 30, 40, 50, 70}
	seeds := effort.Of[uint64](1, 2, 8)
	made := 0
	for _, d := range lasts {
		for seed := range seeds {
			t.Run(fmt.Sprintf("%ds-%d", d, seed), func(t *testing.T) {
				w, reach := slowPartition(t, seed*100+uint64(d), d*time.Second)
				w.settle()
				for _, c := range w.clients {
					if n := c.count(Evicted); n > 0 && reach[c] != 1 {
						w.fail("client %x, which reached %d, was evicted %d times", c.name[:4], reach[c], n)
					}
				}
				for _, s := range w.servers[:2] {
					made += int(s.m.Stats().Evictions)
				}
				w.finalStays()
			})
		}
	}
	if made == 0 {
		t.Error("no master of the minority evicted anybody: nothing was shown")
	}
}

// finalStays fails the test if a client still runs in an incarnation that more than half of the
// servers have evicted with the code Global.
func (w *world) finalStays() {
	w.t.Helper()
	for _, c := range w.clients {
		incarnation, by := c.m.Status().Incarnation, 0
		for _, s := range w.servers {
			for _, e := range s.events {
				if e.Kind == ClientEvicted && e.Client == c.name && e.Incarnation == incarnation && e.Cause == wire.TimedOut {
					by++
					break
				}
			}
		}
		if 2*by > len(w.servers) {
			w.fail("client %x goes on with life %d, which %d servers have evicted", c.name[:4], incarnation, by)
		}
	}
}

// heal ends a network partition.
func (w *world) heal() {
	w.log("healed")
	w.cut = nil
	for _, deliver := range w.kept {
		if w.keeps {
			w.after(w.between(0, 2*time.Second), deliver)
		}
	}
	w.kept = nil
}
