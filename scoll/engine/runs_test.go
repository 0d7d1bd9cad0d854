package engine

import (
	"fmt"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/wire"
)

// liveOutOfBand delivers an attempt of a root's broadcast to the live members of an out-of-band group. again says whether
// the node must recognize that it has run the broadcast already.
func (h *harness) liveOutOfBand(parent, root int, sequence uint64, flags wire.Flags, payload string, again bool) {
	h.t.Helper()
	r := h.header()
	r.Flags, r.Group = wire.FlagSubset|wire.FlagOOB|flags, wire.GroupID{Index: 3, Digest: h.members.Digest()}
	r.Root, r.Sequence, r.Live = uint32(root), sequence, h.members.Digest()
	h.id = 0
	h.deliver(parent, r, false, payload)
	if h.effects[0].Kind == CallMap {
		h.step(Input{Kind: InMapped, Members: h.members})
	}
	if h.want("pre"); h.effects[0].Again != again {
		h.t.Fatalf("sequence %d of root %d: again is %v", sequence, root, !again)
	}
	h.end()
}

// TestAttemptBesideFlood: SC-163, SC-A20: one member broadcasts without end, by way of the parent of an honest root,
// and then removes the out-of-band group with a last broadcast. Neither makes another attempt of the honest root run again.
func TestAttemptBesideFlood(t *testing.T) {
	spec.Covers(t, "SC-163", "SC-A20")
	h := newHarness(t, 8, 7, nil)
	const parent, honest, hostile = 6, 0, 2
	h.liveOutOfBand(parent, honest, 1, 0, "payload", false)
	for i := range uint64(maxRuns + 1) {
		h.liveOutOfBand(parent, hostile, i+1, 0, fmt.Sprint(i), false)
	}
	if most := len(h.m.table.list[0].runs); most > windowSize+1 {
		t.Errorf("%d runs of one root", most)
	}
	h.liveOutOfBand(parent, honest, 2, 0, "payload", true)
	h.liveOutOfBand(parent, hostile, maxRuns+2, wire.FlagLast, "last", false)
	if len(h.m.table.list) != 0 {
		t.Fatal("the group is still in the table")
	}
	h.liveOutOfBand(parent, honest, 3, 0, "payload", true)
}

// TestRunsOfManyRoots: SC-163: more runs come from one parent than a node keeps, one of each of many roots, and many of
// each of a few. The runs of the many roots are all kept.
func TestRunsOfManyRoots(t *testing.T) {
	spec.Covers(t, "SC-163")
	const few = maxRuns / 2
	g := new(group)
	for i := range few {
		g.note(run{first: 1, root: number(i)})
	}
	for root := few; root < few+8; root++ {
		for first := range uint64(windowSize) {
			g.note(run{first: first + 1, root: number(root)})
		}
	}
	if n := len(g.runs); n > maxRuns || n < maxRuns-thinned {
		t.Errorf("%d runs", n)
	}
	for i := range few {
		if g.runs[i].root != number(i) {
			t.Fatalf("the run of root %d is lost", i)
		}
	}
}

// TestGhostRuns: SC-163: the ghost of a group keeps the latest run of each root whose broadcasts came from an honest
// parent, although more runs came from another parent than a ghost keeps.
func TestGhostRuns(t *testing.T) {
	spec.Covers(t, "SC-163")
	var runs []run
	for root := range ghostRuns / 2 {
		runs = append(runs, run{first: 1, root: number(root), parent: number(1)}, run{first: 2, root: number(root), parent: number(1)})
	}
	for root := range 4 * ghostRuns {
		runs = append(runs, run{first: 1, root: number(root), parent: number(2)})
	}
	kept := latestRuns(runs)
	if len(kept) != ghostRuns {
		t.Errorf("%d runs", len(kept))
	}
	for root := range ghostRuns / 2 {
		if got := kept[root]; got != (run{first: 2, root: number(root), parent: number(1)}) {
			t.Fatalf("%+v instead of the latest run of root %d", got, root)
		}
	}
}
