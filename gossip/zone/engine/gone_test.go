package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// went fails the test unless the history is want, in the order in which the nodes left.
func (s *solo) went(want ...GoneStatus) {
	s.t.Helper()
	got := s.m.History()
	same := func(a, b GoneStatus) bool {
		return a.ID == b.ID && a.Version == b.Version && a.Ago == b.Ago && a.Orderly == b.Orderly && a.Cause == b.Cause && a.Code == b.Code && slices.Equal(a.By, b.By)
	}
	if !slices.EqualFunc(got, want, same) {
		s.t.Fatalf("got  %+v\nwant %+v", got, want)
	}
}

// TestGone: the history says when and why each node left, in the order in which they left. A
// node that returns is no longer in it (MS-12, MS-13).
func TestGone(t *testing.T) {
	spec.Covers(t, "MS-12", "MS-13", "MS-111")
	s := acquainted(t, 12, Config{})
	s.leave(1, v(7, 3), -3)
	s.went(GoneStatus{ID: testID(1), Version: v(7, 3), Orderly: true, Cause: Said, Code: -3})
	s.alive(1, v(8, 1))
	s.went()
	s.leave(1, v(8, 1), 0) // the goodbyes arrive at one instant
	s.leave(1, v(8, 4), 5)
	s.step(Input{Kind: Remove, Node: s.ref[2]})
	s.suspicion(3, 5, v(7, 3))
	s.suspicion(4, 5, v(7, 3))
	s.removed(6, v(7, 3))
	want := []GoneStatus{
		{ID: testID(1), Version: v(8, 4), Orderly: true, Cause: Said, Code: 5},
		{ID: testID(2), Version: v(7, 3), Orderly: true, Cause: Said, Code: CodeRemoved},
		{ID: testID(5), Version: v(7, 3), Cause: Dead, By: []Witness{{ID: testID(3)}, {ID: testID(4)}}},
		{ID: testID(6), Version: v(7, 3), Cause: Corrected},
	}
	s.went(want...)
	before := s.m.now
	s.pass(time.Second)
	for i := range want {
		want[i].Ago = s.m.now - before
	}
	s.went(want...)
	s.alive(5, v(7, 4)) // node 5 refutes the suspicions
	s.went(want[0], want[1], want[3])
}

// TestGoneBounded: however many nodes report a member that is then removed, and however many members
// leave, the memory for the history is bounded (MS-A10).
func TestGoneBounded(t *testing.T) {
	spec.Covers(t, "MS-110", "MS-A10")
	s := acquainted(t, 40, Config{Threshold: 30, Successors: 30})
	var all []wire.Suspicion
	for by := 2; by < 40; by++ {
		all = append(all, wire.Suspicion{Reporter: s.ref[by], Suspect: s.ref[1], Version: v(7, 3)})
	}
	s.update(wire.Lists{Suspicions: all})
	s.pass(s.m.relayGrace())
	if h := s.m.History(); len(h) != 1 || len(h[0].By) != maxWitnesses || h[0].By[0].ID != testID(2) {
		t.Errorf("history %+v", h)
	}
	for incarnation := range uint64(2*hardHistoryMin + hardHistory*40) {
		s.leave(2+int(incarnation%30), v(100+incarnation, 1), 0)
	}
	if n, kept := len(s.m.History()), len(s.m.history.list); n != 31 || kept > 2*31+softHistoryMin+1 {
		t.Errorf("%d went, %d notes of them", n, kept)
	}
}

// TestGoneSilent: for each reporter of a dead node the history says whether the reporter's connections failed
// or the reporter heard nothing.
func TestGoneSilent(t *testing.T) {
	s := acquainted(t, 12, Config{})
	s.update(wire.Lists{Silences: []wire.Suspicion{{Reporter: s.ref[4], Suspect: s.ref[7], Version: v(7, 3)}}})
	s.suspicion(3, 7, v(7, 3))
	s.pass(graceRounds * s.m.cfg.Aggregation)
	if h := s.m.History(); len(h) != 1 || !slices.Equal(h[0].By, []Witness{{testID(4), true}, {testID(3), false}}) {
		t.Errorf("history %+v", h)
	}
}

// TestGoneBeforePause: in the history, the time since a node left includes the pauses of this node (MS-111).
func TestGoneBeforePause(t *testing.T) {
	spec.Covers(t, "MS-111")
	s := acquainted(t, 12, Config{})
	s.leave(1, v(7, 3), 0)
	const before, pause = time.Second, 8 * time.Hour
	s.pass(before)
	s.now += pause
	s.step(Input{})
	if h := s.m.History(); s.m.stats.Pauses != 1 || len(h) != 1 || h[0].Ago != before+pause {
		t.Errorf("%d pauses, %+v", s.m.stats.Pauses, h)
	}
}
