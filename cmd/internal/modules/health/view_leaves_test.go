package health

import (
	"testing"
	"time"

	"ulnet/gossip"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
)

// leave makes nodes change to the list without the first one, one every two seconds.
func (v *viewed) leave(nodes ...sim.NodeID) {
	v.t.Helper()
	for _, i := range nodes {
		v.fabric.Do(i, func(*simlnd.Host) {
			if err := v.agents[i].Stage([]nid.NID{simlnd.NID(1), simlnd.NID(2)}); err != nil {
				v.t.Fatal(err)
			}
		})
	}
	for k, i := range nodes {
		v.run(v.fabric.Now()+time.Duration(2*k)*time.Second, func(time.Duration) {})
		v.fabric.Do(i, func(*simlnd.Host) {
			if err := v.agents[i].CommitAnyway(); err != nil {
				v.t.Fatal(err)
			}
		})
	}
}

// pass lets time pass in which the view does not look at its agent.
func (v *viewed) pass(d time.Duration) {
	v.t.Helper()
	if err := v.fabric.Run(v.fabric.Now() + d); err != nil {
		v.t.Fatal(err)
	}
}

// TestViewLeaves: GO-A21, CH-A6: this server leaves the list. It is sure then, at once, that it is alone: it has no quorum, and
// T_q later no clients. This also holds if it leaves while its view settles, or while it is silent after its first start and
// has heard no other.
func TestViewLeaves(t *testing.T) {
	spec.Covers(t, "CH-A6", "GO-A21")
	t.Parallel()
	for name, begin := range map[string]func(t *testing.T) *viewed{
		"settled": settled,
		"settling": func(t *testing.T) *viewed {
			v := settled(t)
			v.end()
			v.begin(0, true)
			return v
		},
		"first start": func(t *testing.T) *viewed {
			v := newViewed(t)
			v.begin(0, false)
			return v
		},
		"some are servers": func(t *testing.T) *viewed {
			v := newViewed(t, simlnd.NID(0), simlnd.NID(2))
			for i := range v.agents {
				v.begin(sim.NodeID(i), true)
			}
			return v
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := begin(t)
			v.run(v.fabric.Now()+5*time.Second, func(time.Duration) {})
			_, known := v.view.Counts()
			v.leave(0)
			v.run(v.fabric.Now()+time.Minute, func(now time.Duration) {
				if alive, _ := v.view.Counts(); alive != 1 || v.view.Unsure() || v.view.Quorum() {
					t.Fatalf("after %v: %d of %d alive, unsure %v", now, alive, known, v.view.Unsure())
				}
			})
			for i := range 2 {
				if alive, died := v.view.Alive(simlnd.NID(sim.NodeID(i + 1))); alive || died > 1 {
					t.Errorf("node %d is alive: %v, %d deaths", i+1, alive, died)
				}
			}
		})
	}
}

// TestViewLeftBy: GO-A21, CH-A6: another server leaves the list. For the view of this one it has died once, and the other
// servers are alive and have a quorum all the time, whichever server commits the list first.
func TestViewLeftBy(t *testing.T) {
	spec.Covers(t, "CH-A6", "GO-A21")
	t.Parallel()
	for _, order := range [][]sim.NodeID{{0, 1, 2}, {2, 1, 0}} {
		v := settled(t)
		others := newView(nil, func(id nid.NID) bool { return id == simlnd.NID(1) })
		v.fabric.Do(1, func(*simlnd.Host) { others.attach(v.agents[1]) })
		v.run(v.fabric.Now()+5*time.Second, func(time.Duration) {})
		v.leave(order...)
		v.run(v.fabric.Now()+time.Minute, func(now time.Duration) {
			others.look()
			if alive, known := others.Counts(); alive != 2 || known != 2 || others.Unsure() {
				t.Fatalf("after %v: %d of %d alive, unsure %v", now, alive, known, others.Unsure())
			}
		})
		for i, want := range []struct {
			alive bool
			died  uint64
		}{{false, 1}, {true, 0}, {true, 0}} {
			if told, _, _ := others.Look(simlnd.NID(sim.NodeID(i))); told.Alive != want.alive || told.Deaths != want.died {
				t.Errorf("node %d: %+v, want %+v", i, told, want)
			}
		}
	}
}

// TestViewExcluded: GO-A5, CH-A6: gossip is stopped and started on a server with another interval than on the others, or
// with another list of the same length, and gives up. This says nothing about the others: the view is unsure from then on,
// and all servers keep their last state, so that no client is evicted. It has no quorum, since it would otherwise evict clients of
// those that it has heard, and that its agent reports as dead when it gives up.
func TestViewExcluded(t *testing.T) {
	spec.Covers(t, "CH-A6", "GO-A5")
	t.Parallel()
	for name, differ := range map[string]func(i sim.NodeID, c *gossip.Config){
		"interval": func(i sim.NodeID, c *gossip.Config) {
			if i == 0 {
				c.Interval = 2 * time.Second
			}
		},
		"list": func(i sim.NodeID, c *gossip.Config) {
			if i > 0 {
				c.Participants[0] = simlnd.NID(3)
			}
		},
	} {
		for _, strict := range []bool{false, true} {
			v := settled(t)
			v.end()
			v.change = func(i sim.NodeID, c *gossip.Config) {
				c.Strict = strict && i == 0
				differ(i, c)
			}
			v.begin(1, true)
			v.begin(2, true)
			v.begin(0, true)
			v.run(v.fabric.Now()+2*time.Minute, func(now time.Duration) {
				if v.agents[0].GivenUp() && (v.view.Quorum() || !v.view.Unsure()) {
					t.Fatalf("%s, strict %v: after %v quorum %v, unsure %v", name, strict, now, v.view.Quorum(), v.view.Unsure())
				}
				if alive, known := v.view.Counts(); alive != 3 || known != 3 || !v.view.Unsure() || v.deaths > 0 {
					t.Fatalf("%s, strict %v: after %v %d of %d alive, unsure %v, %d deaths", name, strict, now, alive, known, v.view.Unsure(), v.deaths)
				}
			})
			if s := v.agents[0].Status(); !s.Stopped || s.Left {
				t.Errorf("%s, strict %v: stopped %v, left %v", name, strict, s.Stopped, s.Left)
			}
		}
	}
}

// TestViewGivesUpLate: GO-A5, CH-A6: with strict, gossip gives up at a server that knew the others, and reports these as dead.
// The view has no quorum then: with one, this server would evict the clients of the others as orphans. It is unsure,
// so that it does not evict its own. This also holds if it gives up while the view settles, when it has heard one of the others.
func TestViewGivesUpLate(t *testing.T) {
	spec.Covers(t, "CH-A6", "GO-A5")
	t.Parallel()
	for _, c := range [][2]bool{{false, true}, {true, true}, {true, false}} {
		settling, asked := c[0], c[1] // asked: the view is asked for its quorum before gossip stops
		v := settled(t)
		v.end()
		v.change = func(i sim.NodeID, c *gossip.Config) { c.Strict = i == 0 }
		v.begin(1, true)
		v.begin(0, true)
		if !settling {
			v.begin(2, true)
		}
		v.pass(5 * time.Second)
		if !settling {
			v.view.look()
		}
		if alive, _ := v.agents[0].Counts(); v.view.IsSettling() != settling || !v.view.Quorum() || alive < 2 {
			t.Fatalf("settling %v, quorum %v, %d heard", v.view.IsSettling(), v.view.Quorum(), alive)
		}
		if !settling {
			v.fabric.Do(2, func(*simlnd.Host) { _ = v.agents[2].Close(t.Context()) })
		}
		v.change = func(_ sim.NodeID, c *gossip.Config) { c.Interval = 2 * time.Second }
		v.begin(2, true)
		for range 60 {
			if v.agents[0].GivenUp() {
				break
			}
			v.view.Counts()
			v.pass(time.Second)
		}
		if s := v.agents[0].Status(); !s.Stopped || s.Left || !v.agents[0].GivenUp() {
			t.Fatalf("stopped %v, left %v", s.Stopped, s.Left)
		}
		if asked && (v.view.Quorum() || !v.view.Unsure()) {
			t.Errorf("settling %v: quorum %v, unsure %v", settling, v.view.Quorum(), v.view.Unsure())
		}
		v.startAnew()
	}
}

// startAnew stops gossip and starts it with the right parameters. The view, which had no quorum, has none until it is sure.
func (v *viewed) startAnew() {
	v.t.Helper()
	v.end()
	v.pass(time.Millisecond)
	if v.view.Quorum() || !v.view.Unsure() {
		v.t.Errorf("gossip has stopped: quorum %v, unsure %v", v.view.Quorum(), v.view.Unsure())
	}
	v.change = nil
	for i := range v.agents {
		v.begin(sim.NodeID(i), false)
	}
	v.run(v.fabric.Now()+time.Minute, func(now time.Duration) {
		if v.view.Quorum() && v.view.IsSettling() {
			v.t.Fatalf("after %v a quorum while settling", now)
		}
	})
	if !v.view.Quorum() || v.view.Unsure() {
		v.t.Errorf("at last: quorum %v, unsure %v", v.view.Quorum(), v.view.Unsure())
	}
}
