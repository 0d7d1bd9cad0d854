package health

import (
	"testing"
	"time"

	"ulnet/gossip"
	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
)

// viewed are three nodes in virtual time, and the view of the first one. Gossip runs once a second.
type viewed struct {
	t      *testing.T
	fabric *simlnd.Fabric
	view   *view
	agents [3]*gossip.Agent
	deaths int                                  // how often the view has reported a death
	change func(i sim.NodeID, c *gossip.Config) // changes the configuration of an agent before it starts; nil: changes nothing
}

// newViewed starts the nodes, without gossip. The servers of the view are the given ones; none: all.
func newViewed(t *testing.T, servers ...nid.NID) *viewed {
	t.Helper()
	v := &viewed{t: t, view: newView(servers, func(id nid.NID) bool { return id == simlnd.NID(0) })}
	boot := func(h, _ *simlnd.Host) {
		n, err := node.Start(node.Config{
			Networks: simlnd.Net.String(), Clock: h.Clock(), Drivers: []lnd.Driver{h.Driver()}, LNet: lnet.Config{Incarnation: h.LNetIncarnation()},
		})
		if err != nil {
			t.Fatal(err)
		}
		h.Data = n
	}
	var err error
	if v.fabric, err = simlnd.New(simlnd.Config{Nodes: len(v.agents), Boot: boot}); err != nil {
		t.Fatal(err)
	}
	v.view.Watch(func(_ nid.NID, alive bool, _ uint64) {
		if !alive {
			v.deaths++
		}
	})
	v.run(time.Second, func(time.Duration) {})
	return v
}

// begin starts gossip at a node. At the first node, its agent becomes the source of the view.
func (v *viewed) begin(i sim.NodeID, cold bool) {
	v.t.Helper()
	v.start(i, cold)
	if i == 0 {
		v.fabric.Do(0, func(*simlnd.Host) { v.view.attach(v.agents[0]) })
	}
}

// start starts gossip at a node.
func (v *viewed) start(i sim.NodeID, cold bool) {
	v.t.Helper()
	v.fabric.Do(i, func(h *simlnd.Host) {
		cfg := gossip.Config{
			Participants: []nid.NID{simlnd.NID(0), simlnd.NID(1), simlnd.NID(2)}, Interval: time.Second, ColdStart: cold,
		}
		if v.change != nil {
			v.change(i, &cfg)
		}
		var err error
		if v.agents[i], err = gossip.New(h.Data.(*node.Node).Table(), cfg); err != nil {
			v.t.Fatal(err)
		}
	})
}

// end stops gossip at all nodes.
func (v *viewed) end() {
	v.t.Helper()
	for i, a := range v.agents {
		v.fabric.Do(sim.NodeID(i), func(*simlnd.Host) {
			if i == 0 {
				v.view.Detach()
			}
			if err := a.Close(v.t.Context()); err != nil {
				v.t.Fatal(err)
			}
		})
	}
}

// run runs the nodes up to an instant; each second the view looks at its agent, and then f is called.
func (v *viewed) run(until time.Duration, f func(now time.Duration)) {
	v.t.Helper()
	for v.fabric.Now() < until {
		if err := v.fabric.Run(v.fabric.Now() + time.Second); err != nil {
			v.t.Fatal(err)
		}
		v.view.look()
		f(v.fabric.Now())
	}
}

// silence returns an instant at which agents that have just begun are silent for the last time.
func (v *viewed) silence() time.Duration {
	v.t.Helper()
	v.run(v.fabric.Now()+time.Second, func(time.Duration) {})
	return v.fabric.Now() + time.Duration(v.agents[0].Status().Limits.Stealth-1)*time.Second
}

// settled are three nodes whose first node knows that all are alive.
func settled(t *testing.T) *viewed {
	t.Helper()
	v := newViewed(t)
	for i := range v.agents {
		v.begin(sim.NodeID(i), true)
	}
	v.run(10*time.Second, func(time.Duration) {})
	if alive, _ := v.view.Counts(); alive != len(v.agents) || v.view.Unsure() {
		t.Fatalf("%d are alive", alive)
	}
	return v
}

// TestViewAllAnew: CH-A6: gossip is stopped and started on all servers, as to change its interval. All are silent at
// first, and not at the same time. No server counts as dead meanwhile, and the view is unsure until the others have been
// heard. A server where gossip does not start again counts as dead in the end, and has died once.
func TestViewAllAnew(t *testing.T) {
	spec.Covers(t, "CH-A6")
	t.Parallel()
	for _, back := range []int{3, 2} {
		v := settled(t)
		v.end()
		v.start(0, false)
		v.run(v.fabric.Now()+2*time.Second, func(time.Duration) {}) // gossip may have had a cycle before the view follows it
		v.fabric.Do(0, func(*simlnd.Host) { v.view.attach(v.agents[0]) })
		v.run(v.fabric.Now()+8*time.Second, func(time.Duration) {}) // by hand, from server to server
		for i := range back - 1 {
			v.begin(sim.NodeID(i+1), false)
		}
		silence := v.silence()
		v.run(90*time.Second, func(now time.Duration) {
			if alive, _ := v.view.Counts(); now <= silence && (alive != 3 || !v.view.Unsure() || v.deaths > 0) {
				t.Fatalf("after %v: %d alive, unsure %v", now, alive, v.view.Unsure())
			}
		})
		if alive, known := v.view.Counts(); alive != back || known != 3 || v.view.Unsure() || v.deaths != 3-back {
			t.Errorf("%d are back: %d of %d alive, unsure %v, %d deaths", back, alive, known, v.view.Unsure(), v.deaths)
		}
		if alive, died := v.view.Alive(simlnd.NID(2)); alive != (back == 3) || died != uint64(3-back) {
			t.Errorf("%d are back: the third is alive: %v, %d deaths", back, alive, died)
		}
	}
}

// TestViewFirstStart: CH-A6: after the start of all servers at once, the view is unsure while this server is silent and
// has not heard most of the others. One that hears them while it is silent is sure.
func TestViewFirstStart(t *testing.T) {
	spec.Covers(t, "CH-A6")
	t.Parallel()
	v := newViewed(t)
	for i := range v.agents {
		v.begin(sim.NodeID(i), false)
	}
	v.run(v.silence(), func(now time.Duration) {
		if !v.view.Unsure() {
			t.Fatalf("sure after %v", now)
		}
	})
	v.run(90*time.Second, func(time.Duration) {})
	if alive, _ := v.view.Counts(); alive != 3 || v.view.Unsure() {
		t.Errorf("%d alive, unsure %v", alive, v.view.Unsure())
	}
}

// TestViewHearsOthers: CH-A6: a server that is silent hears nodes that are not. It is sure if these are most of the
// servers, and unsure if they are other participants of gossip. It stays sure when they die during its silence: it is
// cut off, and has to evict its clients in time.
func TestViewHearsOthers(t *testing.T) {
	spec.Covers(t, "CH-A6")
	t.Parallel()
	for _, servers := range [][]nid.NID{nil, {simlnd.NID(0), simlnd.NID(2)}} {
		v := newViewed(t, servers...)
		v.begin(0, false)
		v.begin(1, true)
		v.begin(2, servers == nil)
		v.run(5*time.Second, func(time.Duration) {})
		if v.view.Unsure() != (servers != nil) || !v.agents[0].Silent() || v.agents[0].Unsure() {
			t.Errorf("servers %v: unsure %v, silent %v", servers, v.view.Unsure(), v.agents[0].Silent())
		}
		if servers != nil {
			v.run(time.Minute, func(time.Duration) {})
			if alive, known := v.view.Counts(); v.view.Unsure() || alive != known {
				t.Errorf("servers %v: unsure %v, %d of %d alive", servers, v.view.Unsure(), alive, known)
			}
			continue
		}
		v.fabric.Kill(1)
		v.fabric.Kill(2)
		v.run(22*time.Second, func(time.Duration) {})
		if alive, _ := v.view.Counts(); alive != 1 || v.view.Unsure() || !v.agents[0].Silent() {
			t.Errorf("cut off: %d alive, unsure %v, silent %v", alive, v.view.Unsure(), v.agents[0].Silent())
		}
	}
}

// TestViewEndsEarly: CH-A6: if the silence of this server ends early, others hold it for dead, so gossip was running
// there. The view then settles without the time for their silence.
func TestViewEndsEarly(t *testing.T) {
	spec.Covers(t, "CH-A6")
	t.Parallel()
	v := settled(t)
	v.fabric.Do(0, func(*simlnd.Host) {
		v.view.Detach()
		_ = v.agents[0].Close(t.Context())
	})
	v.fabric.Kill(2)
	v.run(v.fabric.Now()+40*time.Second, func(time.Duration) {})
	v.begin(0, false)
	v.run(v.fabric.Now()+time.Duration(v.agents[1].Status().Limits.Stealth)*time.Second, func(time.Duration) {})
	if alive, died := v.view.Alive(simlnd.NID(2)); alive || died != 1 || v.view.Unsure() {
		t.Errorf("the third is alive: %v, %d deaths; unsure %v", alive, died, v.view.Unsure())
	}
}

// TestViewPaused: CH-A6: this server is paused while the view settles. Its agent has heard none of the others then, and
// takes none for dead.
func TestViewPaused(t *testing.T) {
	spec.Covers(t, "CH-A6")
	t.Parallel()
	v := settled(t)
	v.end()
	v.begin(0, true)
	v.run(v.fabric.Now()+time.Duration(v.agents[1].Status().Limits.Dead-1)*time.Second, func(time.Duration) {})
	v.fabric.Pause(0)
	v.begin(1, true)
	v.begin(2, true)
	if err := v.fabric.Run(v.fabric.Now() + 5*time.Minute); err != nil {
		t.Fatal(err)
	}
	v.view.look() // at once after the pause, before the agent runs
	v.fabric.Resume(0)
	v.run(v.fabric.Now()+time.Minute, func(time.Duration) {})
	if alive, _ := v.view.Counts(); alive != 3 || v.view.Unsure() || v.deaths > 0 {
		t.Errorf("%d alive, unsure %v, %d deaths", alive, v.view.Unsure(), v.deaths)
	}
}
