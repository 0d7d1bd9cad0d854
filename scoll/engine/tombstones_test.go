package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/wire"
)

// TestGhosts: SC-3: a duplicate that arrives after its group was displaced does not run again.
// Another attempt of the same broadcast to the live members is answered with the result of the
// first. Strangers cannot change that.
func TestGhosts(t *testing.T) {
	spec.Covers(t, "SC-3")
	flood := func(h *harness, from, n int) {
		for i := range n {
			h.regular(uint64(from+i), 1)
			h.end()
		}
	}
	few := func(c *Config) { c.MaxGroups = 3 }
	h := newHarness(t, 2, 1, few)
	h.regular(1, 5)
	h.end()
	flood(h, 10, 100)
	if h.regular(1, 5) || h.m.Stats().Replayed != 1 || len(h.effects) > 1 {
		t.Errorf("%+v, %+v", h.effects, h.m.Stats())
	}
	if !h.regular(1, 6) {
		t.Errorf("the next request is refused: %v", h.refusal().Status)
	}
	h.end()
	flood(h, 200, 100)
	if h.regular(1, 5) || h.regular(1, 6) {
		t.Error("a group that was away twice has forgotten")
	}

	h = newHarness(t, 3, 1, few)
	h.step(Input{Kind: Health, From: h.members.NID(2), Lifetime: 1})
	attempt := func(sequence uint64) {
		r := h.header()
		r.Flags, r.Sequence, r.Nodes, r.Live = wire.FlagSubset, sequence, 2, h.m.liveRoster(&group{members: h.members}).Digest()
		h.id = 0
		h.deliver(0, r, true, "payload")
	}
	attempt(1)
	h.end()
	members := h.members
	h.members, _ = wire.NewMembership(testTargets(2, 1))
	flood(h, 10, 100)
	h.members = members
	attempt(2)
	if h.want("pre"); !h.effects[0].Again {
		t.Error("an attempt is run again")
	}

	h = listed(t, few)
	h.admitted(nil)
	h.drain()
	for i := range maxTombstones + 10 { // adds more ghosts than are kept, again and again of the same few thousand groups
		h.stranger(i%6, 100+i%2000, 0, 1, func(r *wire.RequestHeader) { r.Sequence, r.First = uint64(i+1), uint64(i+1) })
		h.drain()
	}
	for i := range uint64(3) {
		h.id, h.group.Index = 0, 50+i
		h.admitted(nil)
		h.drain()
	}
	h.id, h.group.Index = 0, 1
	if h.admitted(nil); h.m.Stats().Replayed != 1 {
		t.Errorf("strangers' ghosts displaced another: %+v", h.m.Stats())
	}
}

// TestKnownList: SC-81, SC-A11: this node does not ask for the list of a group if it has a list
// with the same digest from another group.
func TestKnownList(t *testing.T) {
	spec.Covers(t, "SC-81", "SC-A11")
	h := newHarness(t, 2, 1, nil)
	h.regular(1, 1)
	h.end()
	second := func(change func(*wire.RequestHeader)) {
		t.Helper()
		r := h.header()
		r.Group.Index, h.id = 2, 0
		change(&r)
		h.step(Input{Kind: Arrival, From: h.members.NID(0), Data: r.AppendTo(nil)})
	}
	for name, change := range map[string]func(*wire.RequestHeader){
		"another digest": func(r *wire.RequestHeader) { r.Group.Digest[0]++ },
		"another node's": func(r *wire.RequestHeader) { r.Group.Creator = number(77) },
	} {
		if second(change); h.refusal().Status != wire.ENOGROUP {
			t.Errorf("%s: %v", name, h.refusal().Status)
		}
	}
	fetched := func(r *wire.RequestHeader) {
		r.Flags, r.List = wire.FlagList, wire.RMA{Bits: 9, Length: uint64(h.members.Size())}
	}
	second(func(r *wire.RequestHeader) { fetched(r); r.List.Length++ })
	h.want("fetch")
	h.step(Input{Kind: InFetched, Status: wire.EIO})
	second(fetched)
	h.want("pre")
	h.end()
	if a, b := h.m.table.list[0], h.m.table.list[1]; a.members != b.members || len(h.m.table.lists) != 1 {
		t.Error("the list is there twice")
	}
	for len(h.m.table.list) > 0 {
		h.m.table.remove(h.m.table.list[0])
	}
	if len(h.m.table.lists) != 0 {
		t.Error("the list stays without a group")
	}
}

// TestCreatorFlaps: SC-160: discovery reports the creator of a group dead, and alive again. A copy of a request
// that has run over the group does not run again.
func TestCreatorFlaps(t *testing.T) {
	spec.Covers(t, "SC-160")
	h := newHarness(t, 2, 1, nil)
	h.regular(1, 5)
	h.end()
	h.flap()
	if h.regular(1, 5) || h.m.Stats().Replayed != 1 {
		t.Errorf("%+v, %+v", h.effects, h.m.Stats())
	}
	if !h.regular(1, 6) {
		t.Errorf("the next request is refused: %v", h.refusal().Status)
	}
}

// flap reports the creator of the group dead, and alive again.
func (h *harness) flap() {
	h.t.Helper()
	for _, alive := range []bool{true, false, true} {
		h.step(Input{Kind: Health, From: h.members.NID(0), Alive: alive, Lifetime: 1})
	}
}

// TestCreatorFlapsInFlight: SC-160: discovery reports the creator of a group dead, and alive again, while a
// request is under way. Another attempt of it does not run, neither at once nor after the request.
func TestCreatorFlapsInFlight(t *testing.T) {
	spec.Covers(t, "SC-101", "SC-160")
	h := newHarness(t, 8, 7, nil)
	h.attempt(1, "pre")
	h.flap()
	if h.attempt(2, "refuse"); h.refusal().Status != wire.ESTALE {
		t.Errorf("refused with %v", h.refusal().Status)
	}
	h.step(Input{Kind: InPreRequest})
	h.want("incoming post")
	first := h.id
	h.attempt(3, "pre")
	if !h.find(CallPreRequest).Again {
		t.Error("an attempt runs beside the first")
	}
	h.id = first
	h.drain()
	if len(h.m.table.list) != 0 || h.m.Stats().Destroyed != 1 {
		t.Errorf("%d groups, %+v", len(h.m.table.list), h.m.Stats())
	}
	h.attempt(4, "pre")
	if !h.find(CallPreRequest).Again {
		t.Error("an attempt runs after the first")
	}
}

// TestGhostSize: the ghost of a displaced group has a bounded size, whatever roots and
// broadcasts a parent has forged: it keeps the latest ones.
func TestGhostSize(t *testing.T) {
	var roots []rootState
	g := new(group)
	for i := range maxRoots {
		roots = append(roots, rootState{nid: number(i), used: time.Duration(i)})
		for first := range uint64(windowSize) {
			g.note(run{first: first + 1, root: number(i), parent: number(i % 2)})
		}
	}
	if n := len(g.runs); n > 2*maxRuns || n < 2*(maxRuns-thinned) {
		t.Errorf("%d runs from two parents", n)
	}
	kept := latest(roots)
	if len(kept) != ghostRoots || kept[0].nid != number(maxRoots-1) || kept[ghostRoots-1].nid != number(maxRoots-ghostRoots) {
		t.Errorf("%d roots", len(kept))
	}
	runs := latestRuns(g.runs)
	if last := runs[len(runs)-1]; len(runs) != ghostRuns || cap(runs) > 2*ghostRuns || last.first != windowSize || last.root != number(maxRoots-1) {
		t.Errorf("%d runs in room for %d, the last is %+v", len(runs), cap(runs), last)
	}
}

// TestMemberAfterFlap: SC-160: after a false report about the creator of a group, a member can still begin broadcasts
// over the group, also while requests that came before the report are under way.
func TestMemberAfterFlap(t *testing.T) {
	spec.Covers(t, "SC-160")
	h := newHarness(t, 8, 7, nil)
	h.attempt(1, "pre")
	h.flap()
	h.step(Input{Kind: Broadcast, Broadcast: &Outgoing{Group: h.group, Service: testService, Token: 2}})
	if h.find(Began).Token != 2 {
		t.Errorf("%+v", h.effects)
	}
}

// TestListAfterCreator: SC-101: a request whose list of members arrives after the creator of the group has died is
// refused, also while another request keeps the group.
func TestListAfterCreator(t *testing.T) {
	spec.Covers(t, "SC-101")
	h := newHarness(t, 8, 7, nil)
	h.admitted(func(r *wire.RequestHeader) {
		r.Flags, r.List = r.Flags|wire.FlagList, wire.RMA{Bits: 9, Length: uint64(h.members.Size())}
	})
	h.want("fetch")
	fetching := h.id
	h.admitted(func(r *wire.RequestHeader) { r.Sequence, r.First = 2, 2 })
	h.want("pre")
	for _, alive := range []bool{true, false} {
		h.step(Input{Kind: Health, From: h.members.NID(0), Alive: alive, Lifetime: 1})
	}
	h.step(Input{Kind: InFetched, ID: fetching, Data: h.members.AppendTo(nil)})
	if h.refusal().Status != wire.ENOGROUP {
		t.Errorf("refused with %v", h.refusal().Status)
	}
}
