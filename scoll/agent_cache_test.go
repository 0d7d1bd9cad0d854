package scoll_test

import (
	"runtime"
	"slices"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/simlnd"
	"ulnet/scoll"
)

// fewGroups makes agents cache few groups of other nodes.
func fewGroups(_ int, cfg *scoll.Config) { cfg.MaxGroups = 4 }

// flood creates groups at a node, and broadcasts over each.
func (s *stacks) flood(root, groups int) {
	s.t.Helper()
	for range groups {
		if o := s.broadcast(root, s.group(root, false, scoll.Tree{}), scoll.RequestConfig{}); len(o.unreached) > 0 {
			s.t.Fatalf("unreached %v", o.unreached)
		}
	}
}

// TestHandlesKeepGroups: SC-1: a member with a handle of a regular group can be its root,
// however many groups other nodes create meanwhile. Without the handle the group is displaced.
func TestHandlesKeepGroups(t *testing.T) {
	spec.Covers(t, "SC-1")
	s := newStacks(t, 3, fewGroups)
	g := s.group(0, false, scoll.Tree{})
	s.broadcast(0, g, scoll.RequestConfig{})
	h := s.nodes[1].kept.Group()
	has := func(node int) bool {
		return slices.ContainsFunc(s.nodes[node].agent.Groups(), func(k scoll.GroupState) bool { return k.ID == g.ID() })
	}
	s.flood(0, 10)
	if has(2) || !has(1) {
		t.Errorf("without a handle the group is kept: %v, with one: %v", has(2), has(1))
	}
	if o := s.broadcast(1, h, scoll.RequestConfig{}); len(o.unreached) > 0 || len(o.answered) != 3 {
		t.Errorf("%d answered, unreached %v", len(o.answered), o.unreached)
	}
	runtime.KeepAlive(h)
	s.nodes[1].replies = nil // drops the recorded replies, which have a handle of the group as well
	for range 100 {
		runtime.GC()
		if s.flood(0, 5); !has(1) {
			return
		}
	}
	t.Error("the group stays without a handle")
}

// TestHandleOutlivesGroup: SC-24, SC-92: an out-of-band group that was displaced between
// NewRequest and Send comes back, also for a request to the live members.
func TestHandleOutlivesGroup(t *testing.T) {
	spec.Covers(t, "SC-24", "SC-92")
	for _, live := range []bool{false, true} {
		s := newStacks(t, 3, fewGroups)
		g := s.oobOr(t, true)
		r, err := g.NewRequest(scoll.RequestConfig{Live: live, Payload: []byte("x")})
		if err == nil {
			err = s.nodes[0].post(r)
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(10) {
			other, err := s.nodes[0].agent.OOBGroup(service, "", scoll.OOBID{Low: 100 + i}, scoll.Tree{}, nil)
			if err == nil {
				_, err = other.NewRequest(scoll.RequestConfig{})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if n := len(s.nodes[0].agent.Groups()); n != 4 {
			t.Errorf("%d groups", n)
		}
		s.fabric.Do(0, func(*simlnd.Host) { err = r.Send() })
		s.run(1e9)
		if err != nil || len(s.nodes[0].done) != 1 {
			t.Fatalf("live %v: %v, %d outcomes", live, err, len(s.nodes[0].done))
		}
		s.all(s.nodes[0].done[0], []string{"x"})
	}
}
