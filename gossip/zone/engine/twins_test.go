package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// twinOf adds to the table a node with the name of node i and another NID.
func (s *solo) twinOf(i int) wire.Ref {
	s.t.Helper()
	return s.twinAt(i, "10.9.9.9@tcp")
}

// twinAt adds to the table a node with the name of node i and the given NID.
func (s *solo) twinAt(i int, at string) wire.Ref {
	s.t.Helper()
	id, err := wire.NewID(testID(i).Name(), nid.MustParse(at))
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := s.m.cfg.Table.Add(id)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// clashes returns the nodes of the Clash events of the latest step.
func (s *solo) clashes() (list []wire.Ref) {
	for _, e := range s.out.Events {
		if e.Kind == Clash {
			list = append(list, e.Node)
		}
	}
	return list
}

// later lets the time d pass, and returns the nodes of all Clash events in that time.
func (s *solo) later(d time.Duration) (list []wire.Ref) {
	s.t.Helper()
	for end := s.now + d; s.now < end; {
		s.now += 100 * time.Millisecond
		s.step(Input{})
		list = append(list, s.clashes()...)
	}
	return list
}

// TestTwinsAreAllTold: members that have the same name (twins) are reported even if in the same minute a
// stranger claims this node's id, which it can do again and again. Of twins that join in one minute the first is
// reported at once and the others when the minute is over.
func TestTwinsAreAllTold(t *testing.T) {
	s := newSolo(t, 40, Config{})
	for i := 5; i < 40; i++ { // with so many members, the silence that this node sees is not enough to remove one
		s.alive(i, v(7, 1))
	}
	s.alive(0, wire.Version{Inc: s.m.ver.Inc, Minor: s.m.ver.Minor + 1})
	if got := s.clashes(); len(got) != 1 || got[0] != s.m.self {
		t.Fatalf("told %v of a claim of this node's id", got)
	}
	var twins, now []wire.Ref // the variable now has the twins that are reported at once
	for i := 2; i < 5; i++ {
		s.alive(i, v(7, 1))
		r := s.twinOf(i)
		twins = append(twins, r)
		s.update(wire.Lists{Alive: []wire.Member{{Node: r, Version: v(3, 1)}}})
		now = append(now, s.clashes()...)
	}
	if len(now) != 1 || now[0] != twins[0] || s.m.stats.Clashes != 4 {
		t.Errorf("told %v at once, want the first of %v; counted %d", now, twins, s.m.stats.Clashes)
	}
	s.update(wire.Lists{Leaves: []wire.Departure{{Node: twins[1], Version: v(3, 1)}}}) // this twin leaves before it is reported
	if got := s.later(2 * reportInterval); len(got) != 1 || got[0] != twins[2] {
		t.Errorf("told %v later, want only %d of %v: one has left", got, twins[2], twins)
	}
}

// TestManyTwins: any node that can send decides how many twins join, so how many are remembered and
// reported is bounded, and all are counted.
func TestManyTwins(t *testing.T) {
	spec.Covers(t, "MS-110")
	const n = 3 * maxTwins
	s := newSolo(t, n+2, Config{})
	told := 0
	for i := 2; i < n+2; i++ {
		s.alive(i, v(7, 1))
		s.update(wire.Lists{Alive: []wire.Member{{Node: s.twinOf(i), Version: v(3, 1)}}})
		told += len(s.clashes())
	}
	if told != 1 || len(s.m.twins.waiting) != maxTwins || s.m.stats.Clashes != n {
		t.Errorf("told %d, %d wait, counted %d", told, len(s.m.twins.waiting), s.m.stats.Clashes)
	}
	if got := s.later(2 * reportInterval); len(got) != maxTwins || len(s.m.twins.waiting) != 0 {
		t.Errorf("told %d later, want %d; %d wait", len(got), maxTwins, len(s.m.twins.waiting))
	}
}

// TestThirdOfOneName: two members that have the same name are reported even if other nodes had that name earlier
// and left, whether or not their ids were forgotten.
func TestThirdOfOneName(t *testing.T) {
	s := newSolo(t, 40, Config{})
	keep := bitmap{}
	for i := 5; i < 40; i++ { // with so many members, the silence that this node sees is not enough to remove one
		s.alive(i, v(7, 1))
		keep.set(s.ref[i])
	}
	join := func(r wire.Ref, inc uint64, want ...wire.Ref) {
		t.Helper()
		s.update(wire.Lists{Alive: []wire.Member{{Node: r, Version: v(inc, 1)}}})
		if got := s.clashes(); !slices.Equal(got, want) {
			t.Errorf("told %v, want %v", got, want)
		}
		s.later(2 * reportInterval)
	}
	leave := func(r wire.Ref, inc uint64) {
		s.step(Input{Kind: Delivered, Message: &wire.Message{
			Kind: wire.Update, From: r, Version: v(inc, 1), Lists: &wire.Lists{Leaves: []wire.Departure{{Node: r, Version: v(inc, 1)}}},
		}})
	}
	moved, copied := s.twinOf(2), s.twinAt(2, "10.9.9.8@tcp")
	join(s.ref[2], 7)
	leave(s.ref[2], 7)
	join(moved, 7) // the node has got another address
	join(copied, 7, copied)
	leave(moved, 7)
	leave(copied, 7)
	join(s.ref[2], 8) // the node has its first address again
	join(copied, 8, copied)
	leave(s.ref[2], 8)
	for _, r := range []wire.Ref{s.m.self, moved, copied} {
		keep.set(r)
	}
	s.m.unbury(s.ref[2], entry{}) // forgets it
	s.m.cfg.Table.forget(keep)
	join(moved, 8, moved)
}
