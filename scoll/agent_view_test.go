package scoll_test

import (
	"errors"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// view is a view that the test changes.
type view struct {
	tell func(nid.NID, bool, uint64)
	n    int
	dead nid.NID
}

func (v *view) Alive(id nid.NID) (bool, uint64) { return id != v.dead, 0 }

func (v *view) Watch(f func(nid.NID, bool, uint64)) (stop func()) {
	v.tell = f
	for i := range v.n {
		f(simlnd.NID(sim.NodeID(i)), true, 0)
	}
	return func() { v.tell = nil }
}

// watched makes stacks, each with a view.
func watched(t *testing.T, n int) (*stacks, []*view) {
	t.Helper()
	return watchedAt(t, n, 0)
}

func watchedAt(t *testing.T, n int, rate int64) (*stacks, []*view) {
	t.Helper()
	views := make([]*view, n)
	return newStacksAt(t, n, rate, func(id int, cfg *scoll.Config) {
		views[id] = &view{n: n}
		cfg.View, cfg.Propagation = views[id], 20*time.Millisecond
	}), views
}

// died reports a death to a node.
func (s *stacks) died(views []*view, at, who int) {
	s.fabric.Do(sim.NodeID(at), func(*simlnd.Host) {
		views[at].dead = simlnd.NID(sim.NodeID(who))
		views[at].tell(views[at].dead, false, 1)
	})
}

// TestAgentsLive: SC-97 and SC-A20 end to end: one member learns of a death late, and buffers
// are posted again for the second attempt.
func TestAgentsLive(t *testing.T) {
	spec.Covers(t, "SC-97", "SC-A20")
	s, views := watched(t, 16)
	g := s.group(0, true, scoll.Tree{})
	s.fabric.Kill(8)
	for i := range s.nodes {
		if i != 8 && i != 12 {
			s.died(views, i, 8)
		}
	}
	s.run(time.Millisecond)
	s.fabric.At(s.fabric.Now()+10*time.Millisecond, func() { s.died(views, 12, 8) })
	s.nodes[15].refuses = 1 // node 15 refuses the first attempt, and may run the second
	o := s.broadcast(0, g, scoll.RequestConfig{Payload: []byte("x"), Live: true})
	if len(o.answered) != 15 || len(o.unreached) != 0 {
		t.Fatalf("answered %v, unreached %v", o.answered, o.unreached)
	}
	repeated := 0
	for _, k := range s.nodes {
		if k.id != 8 && len(k.ran) != 1 {
			t.Errorf("node %d ran %q", k.id, k.ran)
		}
		repeated += k.repeated
	}
	// 12 of the 16 members got a request that said it was a repeated one. The others are node 0, the root; node 8,
	// which is dead; and nodes 12 and 15, which refused the first attempt. These two are leaves in the tree
	// of the live members, so no other node missed the first attempt.
	if repeated != 12 || s.nodes[12].repeated+s.nodes[15].repeated != 0 {
		t.Errorf("repeated at %d nodes", repeated)
	}
	if again := s.nodes[0].agent.Stats().Again; again != 1 {
		t.Errorf("%d more attempts", again)
	}
}

// TestLiveSurplus: SC-29: the root posts more buffers than its children need. The second attempt withdraws
// those of the first: none stays posted when the request is over.
func TestLiveSurplus(t *testing.T) {
	spec.Covers(t, "SC-29", "SC-72")
	s, views := watched(t, 16)
	g := s.group(0, true, scoll.Tree{})
	s.fabric.Kill(8)
	for i := range s.nodes {
		if i != 8 && i != 12 {
			s.died(views, i, 8)
		}
	}
	s.run(time.Millisecond)
	s.fabric.At(s.fabric.Now()+10*time.Millisecond, func() { s.died(views, 12, 8) })
	k := s.nodes[0]
	k.parts = 2
	var r *scoll.Request
	s.fabric.Do(0, func(*simlnd.Host) {
		var err error
		if r, err = g.NewRequest(scoll.RequestConfig{Payload: []byte("x"), Live: true}); err == nil {
			if err = k.post(r); err == nil {
				err = r.Send()
			}
		}
		if err != nil {
			t.Error(err)
		}
	})
	s.run(10 * time.Second)
	if again := k.agent.Stats().Again; again != 1 || len(k.done) != 1 || len(k.done[0].answered) != 15 {
		t.Fatalf("%d more attempts, %v", again, k.done)
	}
	if n := r.Linked(); n != 0 {
		t.Errorf("%d buffers stay posted", n)
	}
}

// TestAgentsDeath: SC-137, G-SC-7: when a view reports a death, the wait for that node ends at
// once.
func TestAgentsDeath(t *testing.T) {
	spec.Covers(t, "SC-130", "SC-137", "G-SC-7")
	s, views := watched(t, 8)
	g := s.group(0, true, scoll.Tree{})
	s.fabric.Crash(4)
	s.fabric.At(s.fabric.Now()+3*time.Millisecond, func() { s.died(views, 0, 4) })
	o := s.broadcast(0, g, scoll.RequestConfig{Processing: time.Second})
	if len(o.unreached) != 4 || o.unreached[0].Status != scoll.EHOSTDOWN || o.at > 4*time.Millisecond {
		t.Errorf("%v after %v", o.unreached, o.at)
	}
	_, err := g.NewRequest(scoll.RequestConfig{})
	if !errors.Is(err, scoll.EHOSTDOWN) {
		t.Errorf("SC-130: %v", err)
	}
}

// overtaken is a view in which node 1 dies during a call of Alive for it: the view reports the death before Alive
// returns that the node was alive.
type overtaken struct {
	tell func(nid.NID, bool, uint64)
	died bool
}

func (v *overtaken) Alive(nid.NID) (bool, uint64) {
	if v.died {
		return false, 1
	}
	v.died = true
	v.tell(simlnd.NID(1), false, 1)
	return true, 0
}

func (v *overtaken) Watch(f func(nid.NID, bool, uint64)) (stop func()) {
	v.tell = f
	return func() {}
}

// TestDeathOvertakesAnswer: SC-130: a node dies while the agent asks the view about it. The outdated answer does
// not replace the report of the death: a broadcast fails at once, as does the next one.
func TestDeathOvertakesAnswer(t *testing.T) {
	spec.Covers(t, "SC-130")
	s := newStacks(t, 2, func(id int, cfg *scoll.Config) {
		if id == 0 {
			cfg.View = &overtaken{}
		}
	})
	g := s.group(0, false, scoll.Tree{})
	for range 2 {
		if _, err := g.NewRequest(scoll.RequestConfig{}); !errors.Is(err, scoll.EHOSTDOWN) {
			t.Errorf("node 1 is dead: %v", err)
		}
	}
}

// unsteady is a view whose lifetime of a node rises with each call of Alive, although the node does not die.
type unsteady struct{ asked uint64 }

func (v *unsteady) Alive(nid.NID) (bool, uint64) {
	if v.asked++; v.asked > 100 {
		panic("asked without end")
	}
	return true, v.asked
}

func (v *unsteady) Watch(func(nid.NID, bool, uint64)) (stop func()) { return func() {} }

// TestUnsteadyView: NewRequest returns although the view never gives the same answer twice.
func TestUnsteadyView(t *testing.T) {
	s := newStacks(t, 2, func(id int, cfg *scoll.Config) {
		if id == 0 {
			cfg.View = &unsteady{}
		}
	})
	if _, err := s.group(0, false, scoll.Tree{}).NewRequest(scoll.RequestConfig{}); err != nil {
		t.Error(err)
	}
}
