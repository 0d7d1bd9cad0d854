package engine

import (
	"bytes"
	"slices"
	"testing"

	"ulnet/gossip/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// newListOf returns the list of the participants testNIDs(to)[from:], of which there are to-from.
func newListOf(t testing.TB, from, to int) *List {
	t.Helper()
	l, err := NewList(testNIDs(to)[from:])
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// stage makes the machine stage a list.
func (h *harness) stage(l *List) {
	h.t.Helper()
	h.step(Input{Kind: Stage, List: l, Self: l.Index(h.list.NID(h.m.self))})
}

// in returns a header of a message that uses the list l, with parameters or without.
func (h *harness) in(l *List, params bool) wire.Header {
	header := wire.Header{N: uint32(l.Len()), Clock: h.m.Clock()}
	if params {
		header.Flags, header.Interval, header.Digest = wire.FlagParams, interval, l.Digest()
	}
	return header
}

// hear delivers a ping that uses the list l, from a participant in that list.
func (h *harness) hear(l *List, from nid.NID, header wire.Header) {
	h.t.Helper()
	h.step(Input{Kind: Ping, From: from, Data: append(header.AppendTo(nil), young(l.Len(), l.Index(from))...)})
}

// TestRollStaged: a node that has staged a list understands both lists and translates between
// them by NID. It answers in the list of the ping, and its messages show that it has staged the
// new list (GO-78, GO-A21).
func TestRollStaged(t *testing.T) {
	spec.Covers(t, "GO-78", "GO-A21")
	h := newHarness(t, 8, 2, nil)
	next := newListOf(t, 2, 12) // participants 0 and 1 leave, four nodes join
	h.cycles(10)
	h.stage(next)
	h.cycles(1)
	if header, _ := h.sent(false); header.Digest != h.list.Digest() || header.Flags&wire.FlagStaged == 0 || header.Staged != next.Digest() {
		t.Errorf("pings with %+v", header)
	}
	before := bytes.Clone(h.m.ages.Bytes())
	h.hear(next, h.list.NID(5), h.in(next, true))
	if header, _ := h.sent(true); header.N != 10 || header.Digest != next.Digest() || header.Flags&wire.FlagStaged == 0 {
		t.Errorf("answers with %+v", header)
	}
	want := []byte{before[0], before[1], 0, 2, 2, 1, 2, 2}
	if !bytes.Equal(h.m.ages.Bytes(), want) {
		t.Errorf("ages %v, want %v", h.m.ages.Bytes(), want)
	}
	h.hear(next, next.NID(9), h.in(next, false)) // a joining node whose first N cycles are over sends no parameters; it is understood
	if s := h.m.Stats(); s.Strangers+s.Disagreements+s.Malformed != 0 || s.PingsReceived != 2 {
		t.Errorf("counters %+v", s)
	}
}

// TestRollSameNumber: if two lists have the same length, this node tells by the sender which of them
// a message without parameters uses (GO-A21).
func TestRollSameNumber(t *testing.T) {
	spec.Covers(t, "GO-A21")
	next := newListOf(t, 1, 9) // participant 0 leaves and 8 joins: index 3 in the old list is index 2 in the new one
	for _, c := range []struct {
		name    string
		from    int // the sender, as an index in testNIDs
		told    bool
		commits bool
		foreign bool
	}{
		{"one that joins", 8, false, false, true},
		{"one that has committed", 3, true, false, true},
		{"one that says nothing", 3, false, false, false},
		{"one that leaves, after our commit", 0, false, true, true},
		{"one that says nothing, after our commit", 3, false, true, false},
	} {
		h := newHarness(t, 8, 4, nil)
		h.cycles(10)
		h.stage(next)
		if c.commits {
			h.step(Input{Kind: Commit})
		}
		from := testNIDs(9)[c.from]
		if c.told {
			h.hear(next, from, h.in(next, true))
		}
		msg := incoming{from: from, index: h.m.list.Index(from), ping: true, Header: h.in(next, false)}
		if got := h.m.agreed(&msg, &h.out); !got || (msg.foreign != nil) != c.foreign {
			t.Errorf("%s: understood %v, as of the other list %v, want %v", c.name, got, msg.foreign != nil, c.foreign)
		}
	}
}

// TestRollIsHeard: other nodes have staged a list, and this node has not. Its messages carry
// the digest of its own list, because without the digest they could be taken for messages in
// the new list (GO-A21).
func TestRollIsHeard(t *testing.T) {
	spec.Covers(t, "GO-A21")
	h := newHarness(t, 8, 2, nil)
	h.cycles(10)
	if header, _ := h.sent(false); header.Flags&wire.FlagParams != 0 {
		t.Fatal("parameters after the first cycles")
	}
	staged := h.params(h.header())
	staged.Flags |= wire.FlagStaged
	staged.Staged[3] = 1
	h.ping(3, staged, young(8, 3)...)
	for range h.m.Limits().Dead {
		h.cycles(1)
		if header, _ := h.sent(false); header.Flags&wire.FlagParams == 0 {
			t.Fatalf("no parameters in cycle %d", h.m.Cycle())
		}
	}
	h.cycles(1)
	if header, _ := h.sent(false); header.Flags&wire.FlagParams != 0 {
		t.Error("parameters for ever")
	}
}

// TestRollCommit: a commit reports as dead only those participants that leave the list, and keeps all
// that the node knows of the others. The old list is understood until all have committed and no
// message uses it (GO-78).
func TestRollCommit(t *testing.T) {
	spec.Covers(t, "GO-78")
	h := newHarness(t, 8, 2, func(c *Config) { c.Trace = true })
	h.meet(12)
	h.m.health.died[7] = 3
	next := newListOf(t, 2, 10) // participants 0 and 1 leave, two nodes join
	h.stage(next)
	h.step(Input{Kind: Commit})
	if got := kinds(h.out.Events); !slices.Equal(got, []EventKind{Died, Died}) || h.out.Events[0].NID != h.list.NID(0) {
		t.Errorf("told %v, want the two that leave", got)
	}
	if h.m.Len() != 8 || h.m.AliveCount() != 6 || !h.m.Quorum() || h.m.Participant(5).Aliveness != 3 {
		t.Errorf("%d participants, %d alive, quorum %v", h.m.Len(), h.m.AliveCount(), h.m.Quorum())
	}
	if e, ok := h.m.Explain(h.list.NID(7)); !ok || !e.Heard {
		t.Errorf("explains %+v, %v", e, ok)
	}
	old := h.list
	others := []int{3, 4, 5, 6, 7, 8, 9}
	ids := testNIDs(10)
	for range 2 * h.m.Limits().Dead { // the participant others[0] does not commit
		h.cycles(1)
		for _, i := range others[1:] {
			h.hear(next, ids[i], h.in(next, true))
		}
		h.hear(old, ids[3], h.in(old, true))
		if header, _ := h.sent(true); header.N != 8 || header.Digest != old.Digest() || header.Staged != next.Digest() {
			t.Fatalf("the old list is answered with %+v", header)
		}
	}
	s := h.m.RollStatus()
	if !s.Committed || len(s.Members) != 10 || s.Members[3].State != RollUnstaged || s.Members[9].State != RollCommitted || !s.Members[0].Leaves {
		t.Fatalf("status %+v", s)
	}
	if missing := s.Missing(); !slices.Equal(missing, ids[3:4]) {
		t.Errorf("%v are missing, want %v", missing, ids[3])
	}
	for range h.m.Limits().Dead + 2 {
		h.cycles(1)
		for _, i := range others {
			h.hear(next, ids[i], h.in(next, true))
		}
	}
	if s := h.m.RollStatus(); s.Committed || s.NewN != 0 {
		t.Errorf("the change does not end: %+v", s)
	}
	h.hear(old, ids[3], h.in(old, true))
	if h.m.Stats().Disagreements != 1 {
		t.Error("the old list is understood for ever")
	}
}

// TestRollStates: a ping or answer shows how far its sender is with the change of the list, such as
// staged or committed, and RollStatus reports that for each participant (GO-A21).
func TestRollStates(t *testing.T) {
	spec.Covers(t, "GO-A21")
	next := newListOf(t, 0, 10)
	staged := func(h wire.Header) wire.Header {
		h.Flags, h.Staged = h.Flags|wire.FlagStaged, next.Digest()
		return h
	}
	other := func(h wire.Header) wire.Header {
		h.Flags, h.Staged = h.Flags|wire.FlagStaged, wire.Digest{1}
		return h
	}
	h := newHarness(t, 8, 0, nil)
	old := h.list
	h.cycles(1)
	h.stage(next)
	h.ping(1, h.in(old, true), young(8, 1)...)
	h.ping(2, staged(h.in(old, true)), young(8, 2)...)
	h.ping(3, h.in(next, true), young(10, 3)...)
	h.reply(3, staged(h.in(old, true))) // participant 3 replies in the old list, so that this node understands the reply
	h.ping(4, other(h.in(old, true)), young(8, 4)...)
	h.reply(5, staged(h.in(old, true)))
	want := []RollState{RollStaged, RollUnstaged, RollStaged, RollCommitted, RollOther, RollStaged, RollUnknown, RollUnknown, RollUnknown, RollUnknown}
	for i, m := range h.m.RollStatus().Members {
		if m.State != want[i] || m.Joins != (i >= 8) {
			t.Errorf("%d before the commit: %+v, want %v", i, m, want[i])
		}
	}
	h.step(Input{Kind: Commit})
	h.reply(6, staged(h.in(next, true))) // participant 6 has staged the list and replies in this node's list
	h.reply(7, h.in(next, true))
	want[0], want[6], want[7] = RollCommitted, RollStaged, RollCommitted
	for i, m := range h.m.RollStatus().Members {
		if m.State != want[i] {
			t.Errorf("%d after the commit: %+v, want %v", i, m, want[i])
		}
	}
}

// TestRollRefused: a change of the list that is not possible at the moment, such as a commit without a
// stage, is counted and has no effect.
func TestRollRefused(t *testing.T) {
	h := newHarness(t, 8, 2, nil)
	h.cycles(1)
	h.step(Input{Kind: Commit})
	h.step(Input{Kind: Cancel})
	h.stage(h.list)
	elsewhere, err := NewList([]nid.NID{nid.MustParse("10.0.0.1@o2ib"), nid.MustParse("10.0.0.2@o2ib")})
	if err != nil {
		t.Fatal(err)
	}
	h.step(Input{Kind: Stage, List: elsewhere, Self: -1})
	if h.m.Stats().BadStages != 4 || h.m.roll.other != nil {
		t.Errorf("counted %d", h.m.Stats().BadStages)
	}
	next := newListOf(t, 0, 9)
	h.stage(next)
	h.step(Input{Kind: Cancel})
	if h.m.roll.other != nil || h.m.Stats().BadStages != 4 {
		t.Error("a staged list cannot be given up")
	}
	h.stage(next)
	h.step(Input{Kind: Commit})
	h.stage(newListOf(t, 0, 10))
	h.step(Input{Kind: Cancel})
	if h.m.Stats().BadStages != 6 || !h.m.roll.committed || h.m.Len() != 9 {
		t.Errorf("a change began before the last was over: %+v", h.m.Stats())
	}
}

// TestRollLeave: a node that is not in the new list stops, and reports all others as
// dead.
func TestRollLeave(t *testing.T) {
	h := newHarness(t, 8, 0, nil)
	h.meet(8)
	h.stage(newListOf(t, 1, 8))
	h.out.Reset()
	h.m.Step(h.now, Input{Kind: Commit}, &h.out)
	k := kinds(h.out.Events)
	if !h.m.Stopped() || k[0] != Left || k[len(k)-1] != QuorumLost || len(k) != 9 || h.m.AliveCount() != 1 {
		t.Errorf("stopped %v, told %v, %d alive", h.m.Stopped(), k, h.m.AliveCount())
	}
}

// TestRollLeft: GO-A21, GO-A5: only the commit of a list without this node makes it leave. A node that stops because its
// parameters are wrong has not left, even while such a list is staged.
func TestRollLeft(t *testing.T) {
	spec.Covers(t, "GO-A21", "GO-A5")
	for _, strict := range []bool{false, true} {
		for _, commit := range []bool{false, true} {
			h := newHarness(t, 8, 0, func(c *Config) { c.Strict = strict })
			h.cycles(1)
			h.stage(newListOf(t, 1, 8))
			if h.m.Left() {
				t.Error("has left before the commit")
			}
			if commit {
				h.step(Input{Kind: Commit})
			}
			bad := h.params(h.header())
			bad.Interval = 2 * interval
			h.ping(3, bad, young(8, 3)...)
			h.ping(4, bad, young(8, 4)...)
			if !h.m.Stopped() || h.m.Left() != commit {
				t.Errorf("strict %v, commit %v: stopped %v, left %v", strict, commit, h.m.Stopped(), h.m.Left())
			}
		}
	}
}
