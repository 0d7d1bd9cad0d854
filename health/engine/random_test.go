package engine

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

var (
	plans    = flag.Int("plans", 0, "how many random fault plans; 0: a few, as many as fit the time")
	onlyPlan = flag.Uint64("plan", 0, "run this one only")
)

// TestRandomPlans: CH-33, CH-61, CH-63, goal G-CH-3: servers, the network and clients have
// faults of all kinds. In the end each running client is connected, its servers agree about it,
// and no server has a connection of a dead client. No healthy client was evicted.
func TestRandomPlans(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-61", "CH-63", "G-CH-3")
	n := *plans
	if n == 0 {
		n = effort.Of(30, 80, 2000)
	}
	for seed := uint64(1); seed <= uint64(n); seed++ {
		if *onlyPlan != 0 {
			seed = *onlyPlan
		}
		name := fmt.Sprintf("plan=%d", seed)
		if !t.Run(name, func(t *testing.T) { runPlan(t, seed) }) || *onlyPlan != 0 {
			break
		}
	}
}

// runPlan runs a cluster through random faults that the seed determines. In every third plan the
// faults are mild, so that no healthy client may be evicted; in the other plans they may cut
// clients off.
func runPlan(t *testing.T, seed uint64) {
	w := newWorld(t, seed, 3+int(seed%5))
	mild := seed%3 == 0
	w.dup, w.reorder, w.stale, w.late = 0.05, 0.1, 0.1, 0.2
	if !mild {
		w.loss = w.rng.Float64() * 0.05
	}
	w.run(2 * time.Second)
	n := len(w.servers)
	for range 6 {
		var wants []int
		for k := range n {
			if w.rng.IntN(3) > 0 {
				wants = append(wants, k)
			}
		}
		w.add(wants...)
	}
	w.run(20 * time.Second)
	for range 2 + w.rng.IntN(4) {
		if mild {
			w.mildFault()
		} else {
			w.fault()
		}
		w.run(w.between(0, 30*time.Second))
	}
	if mild {
		w.run(50 * time.Second)
		w.noEvictions()
	}
	w.cut, w.loss, w.stale, w.late, w.dup, w.reorder = nil, 0, 0, 0, 0, 0
	for _, s := range w.servers {
		if !s.up {
			s.start()
		}
	}
	// By then all pauses have ended, the last orphans are evicted, and digests have found
	// connections of clients that are gone.
	w.run(60 * time.Second)
	w.doubt()
	w.run(120 * time.Second)
	w.doubt()
	w.run(40 * time.Second)
	w.settle()
	w.history()
}

// mildFault applies one of the faults that goal G-CH-3 names: a server dies, is restarted or is
// paused, with at most a minority of servers affected at a time; or one more client starts.
func (w *world) mildFault() {
	down := 0
	for _, s := range w.servers {
		if !s.up || s.stopped || w.now < s.ready+5*time.Second {
			down++
		}
	}
	s := w.servers[w.rng.IntN(len(w.servers))]
	if w.rng.IntN(5) == 0 {
		c := w.clients[w.rng.IntN(len(w.clients))]
		c.kill()
		w.after(w.between(0, 10*time.Second), c.start)
		return
	}
	if !s.up || s.stopped || (down+1)*2 >= len(w.servers) {
		return
	}
	switch w.rng.IntN(3) {
	case 0:
		s.kill()
		w.after(w.between(60*time.Second, 90*time.Second), s.start)
	case 1:
		s.kill()
		w.after(w.between(100*time.Millisecond, 10*time.Second), s.start)
	case 2:
		w.pause(s, w.between(500*time.Millisecond, 40*time.Second))
	}
}

// fault causes a random fault of any kind.
func (w *world) fault() {
	s := w.servers[w.rng.IntN(len(w.servers))]
	c := w.clients[w.rng.IntN(len(w.clients))]
	switch w.rng.IntN(8) {
	case 0:
		if s.up {
			s.kill()
			w.after(w.between(100*time.Millisecond, 40*time.Second), func() {
				if !s.up {
					s.start()
				}
			})
		}
	case 1:
		w.pause(s, w.between(500*time.Millisecond, 40*time.Second))
	case 2:
		w.pause(c, w.between(500*time.Millisecond, 40*time.Second))
	case 3:
		if c.up {
			c.kill()
			w.after(w.between(0, 40*time.Second), func() {
				if !c.up {
					c.start()
				}
			})
		}
	case 4:
		c.kill()
	case 5, 6:
		side := make(map[nid.NID]bool)
		for _, s := range w.servers {
			side[s.id] = w.rng.IntN(2) == 0
		}
		clientsToo := w.rng.IntN(2) == 0
		for _, c := range w.clients {
			side[c.id] = w.rng.IntN(2) == 0
		}
		w.log("partition %v, of clients %v", side, clientsToo)
		cut := func(a, b nid.NID) bool {
			return side[a] != side[b] && (clientsToo || w.server(a) != nil && w.server(b) != nil)
		}
		w.cut = cut
		w.after(w.between(time.Second, 60*time.Second), func() { w.cut = nil; w.log("healed") })
	case 7:
		s.broken = true
		w.after(w.between(time.Second, 20*time.Second), func() { s.broken = false })
	}
}

// history checks the events of all servers: an incarnation that all have evicted is connected to
// none of them afterwards. There are four exceptions: the master finally kept the incarnation;
// the server was cut off after it learned of the eviction; only a minority of servers evicted
// the incarnation (see revoke.go); the server died before the tombstone was on its disk.
func (w *world) history() {
	w.t.Helper()
	kept := make(map[wire.ClientID]uint64)
	for _, s := range w.servers {
		s.kept(kept)
	}
	var buried []map[wire.ClientID]uint64
	for _, s := range w.servers {
		over := make(map[wire.ClientID]uint64)
		for i, e := range s.events {
			if e.Kind == QuorumLost || slices.Contains(s.unwritten, i) {
				clear(over)
			}
			switch {
			case e.Kind == ClientEvicted && (e.Cause == wire.TimedOut || e.Cause == wire.ByAdmin || e.Cause == wire.LostMaster):
				over[e.Client] = max(over[e.Client], e.Incarnation)
			case (e.Kind == ClientConnected || e.Kind == ClientRehomed) && over[e.Client] >= e.Incarnation && kept[e.Client] != e.Incarnation:
				w.fail("%v has client %x/%d again, which it had evicted", s.id, e.Client[:4], e.Incarnation)
			}
		}
		buried = append(buried, over)
	}
	for _, s := range w.servers {
		for _, c := range w.clients {
			info, ok := s.m.Client(c.name)
			if ok && kept[c.name] != info.Incarnation && 2*told(buried, info) > len(w.servers) {
				w.fail("most servers have evicted client %x/%d, but %v holds it", c.name[:4], info.Incarnation, s.id)
			}
		}
	}
}

// told counts the servers with a tombstone that refuses the incarnation in c.
func told(buried []map[wire.ClientID]uint64, c ClientInfo) (n int) {
	for _, over := range buried {
		if over[c.Client] >= c.Incarnation {
			n++
		}
	}
	return n
}

// kept adds the incarnations that this server began to evict and then kept, because their
// clients had chosen another master.
func (s *server) kept(incarnations map[wire.ClientID]uint64) {
	ending := make(map[wire.ClientID]uint64)
	for _, e := range s.events {
		switch e.Kind {
		case ClientSuspended:
			ending[e.Client] = e.Incarnation
		case ClientEvicted:
			delete(ending, e.Client)
		case ClientRehomed:
			if ending[e.Client] == e.Incarnation {
				incarnations[e.Client] = e.Incarnation
			}
		}
	}
}
