package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

// listed returns member 4 of 8 with a list of known nodes that has exactly its group's members.
func listed(t *testing.T, change func(*Config)) *harness {
	t.Helper()
	h := newHarness(t, 8, 4, change)
	members := h.members
	h.step(Input{Kind: Listed, Listed: func(id nid.NID) bool { return members.Rank(id) >= 0 }})
	return h
}

func number(n int) nid.NID { return nid.FromNumber(nid.MakeNet(nid.GNI, 1), uint32(n)+1) }

// stranger delivers a request of a stranger over a group whose root has the given number of entities. The
// parameter others is the number of children that this node has in the tree of the request.
func (h *harness) stranger(from, group, others, entities int, change func(*wire.RequestHeader)) {
	h.t.Helper()
	targets := []wire.Target{{NID: number(from), Entities: make([]wire.Entity, max(entities, 1))}, h.members.Target(h.rank)}
	for i := range max(2*others-1, 0) {
		targets = append(targets, wire.Target{NID: number(1000*(from+1) + i), Entities: []wire.Entity{{1}}})
	}
	members, err := wire.NewMembership(targets)
	if err != nil {
		h.t.Fatal(err)
	}
	r := h.header()
	r.Group = wire.GroupID{Creator: number(from), Incarnation: 7, Index: uint64(group), Digest: members.Digest()}
	r.Nodes, r.RootIncarnation = uint32(members.Len()), 7
	r.Tree = wire.Tree{Type: wire.KAry, K: uint32(max(others, 1))}
	list := members.AppendTo(nil)
	r.Flags |= wire.FlagList
	if change != nil {
		change(&r)
	}
	h.id = 0
	if len(list)+wire.RequestHeaderSize <= wire.MaxMessage {
		r.ListSize = uint32(len(list))
		h.step(Input{Kind: Arrival, From: number(from), Data: append(r.AppendTo(nil), list...)})
		return
	}
	r.List = wire.RMA{Bits: 9, Length: uint64(len(list))}
	h.step(Input{Kind: Arrival, From: number(from), Data: r.AppendTo(nil)})
	if len(h.effects) > 0 && h.effects[0].Kind == DoFetch {
		h.step(Input{Kind: InFetched, Data: list})
	}
}

// TestStrangerGroups: 256 small groups of a stranger, or of several, take a quarter of the
// cache, and displace no groups of listed nodes.
func TestStrangerGroups(t *testing.T) {
	spec.Covers(t, "SC-162")
	for name, strangers := range map[string]int{"one": 1, "several": 50} {
		h := listed(t, func(c *Config) { c.MaxGroups = 64 })
		for i := range 10 {
			h.id, h.group.Index = 0, uint64(i+1)
			h.admitted(nil)
			h.drain()
		}
		for i := range 256 {
			h.stranger(i%strangers, i, 0, 1, nil)
			h.drain()
		}
		if n := h.m.shares.strangers.groups; n > 16 || n == 0 || len(h.m.Groups()) > 64 {
			t.Errorf("%s: %d groups of strangers, %d in all", name, n, len(h.m.Groups()))
		}
		for i := range 64 { // listed nodes may use all of the cache
			h.id, h.group.Index = 0, uint64(i+1)
			h.admitted(func(r *wire.RequestHeader) { r.Sequence, r.First = 2, 2 })
			if h.effects[0].Kind != CallPreRequest {
				t.Fatalf("%s: group %d of a listed node is refused", name, i)
			}
			h.drain()
		}
	}
}

// TestStrangerLists: lists of 13 MiB of a stranger take a sixteenth of the memory for lists,
// while they are fetched and afterwards.
func TestStrangerLists(t *testing.T) {
	spec.Covers(t, "SC-162")
	effort.OneGoroutine(t)
	const entities = 13 << 20 / 16
	h := listed(t, nil)
	for group := range 2 {
		h.stranger(1, group, 0, entities, nil)
		h.drain()
	}
	if n := h.m.shares.strangers; n.groups != 1 || n.bytes > strangerBytes || n.fetch != 0 {
		t.Errorf("strangers hold %+v", n)
	}
	h.stranger(2, 1, 0, entities/3, nil) // a shorter list of another stranger displaces the list of the first stranger
	h.want("pre")
	h.drain()
	if n := h.m.shares.of[number(1)]; n.groups != 0 || h.m.shares.of[number(2)].groups != 1 {
		t.Errorf("the first holds %+v", n)
	}
	fetches := 0
	for i := range 40 { // requests whose lists never arrive
		r := h.header()
		r.Group, r.Flags, r.List = wire.GroupID{Creator: number(i), Incarnation: 7, Index: 99, Digest: wire.Digest{1}}, wire.FlagList, wire.RMA{Bits: 9, Length: 13 << 20}
		h.id = 0
		h.step(Input{Kind: Arrival, From: number(i), Data: r.AppendTo(nil)})
		if h.effects[0].Kind == DoFetch {
			fetches++
		}
	}
	if fetches != 1 {
		t.Errorf("%d lists of strangers are fetched at a time", fetches)
	}
	h.id = 0
	h.admitted(func(r *wire.RequestHeader) { r.Flags, r.List = wire.FlagList, wire.RMA{Bits: 1, Length: 180 << 20} })
	h.want("fetch")
}

// TestStrangerDials: in the tree of a stranger's request this node has a thousand children. It
// sends to sixteen of them, and for later requests to the same sixteen. The others are missing.
func TestStrangerDials(t *testing.T) {
	spec.Covers(t, "SC-162")
	h := listed(t, nil)
	sent := map[nid.NID]bool{}
	send := func(from, group int) (failed int) {
		t.Helper()
		h.stranger(from, group, 1000, 1, nil)
		h.want("pre")
		h.step(Input{Kind: InPreRequest})
		for _, e := range h.effects {
			switch {
			case e.Kind == DoSend:
				sent[e.To] = true
			case e.Kind == CallReply && e.Status == wire.ENOTLISTED:
				failed++
			}
		}
		h.drain()
		return failed
	}
	for group := range 4 {
		if failed := send(group%2, group); len(sent) != maxDialed || failed < 1000-maxDialed {
			t.Fatalf("request %d: sent to %d addresses, %d refused", group, len(sent), failed)
		}
	}
	if h.m.Stats().NotListed < 3000 {
		t.Errorf("%+v", h.m.Stats())
	}
	h.now += dialHold
	if send(5, 1); len(sent) != 2*maxDialed {
		t.Errorf("%d addresses after they were idle", len(sent))
	}
}

// TestListedNames: a member forwards a listed node's requests to any number of nodes. Without a
// list of known nodes this is true for all nodes.
func TestListedNames(t *testing.T) {
	spec.Covers(t, "SC-163")
	h := newHarness(t, 8, 4, nil)
	h.stranger(1, 1, 100, 1, nil)
	h.step(Input{Kind: InPreRequest})
	sent := 0
	for _, e := range h.effects {
		if e.Kind == DoSend {
			sent++
		}
	}
	if sent != 100 {
		t.Errorf("without a list %d of 100 are sent to", sent)
	}
}

// TestStrangerRequests: requests of strangers that never end occupy a quarter of the slots. Such requests of
// one listed node leave a quarter of the slots to other nodes.
func TestStrangerRequests(t *testing.T) {
	spec.Covers(t, "SC-162")
	h := listed(t, func(c *Config) { c.MaxActive = 16 })
	for i := range 40 {
		h.stranger(i, 1, 0, 1, nil)
	}
	if h.m.admission.taken != 4 {
		t.Fatalf("strangers hold %d slots of 16", h.m.admission.taken)
	}
	for index := range uint64(20) {
		h.id, h.group.Index = 0, index
		h.admitted(nil)
	}
	if h.m.admission.taken != 16 {
		t.Errorf("a listed node and strangers hold %d slots of 16", h.m.admission.taken)
	}
}

// TestFloodingPeer: without a list of known nodes, a node that creates more groups than fit
// displaces its own groups, not those of others.
func TestFloodingPeer(t *testing.T) {
	spec.Covers(t, "SC-163")
	h := newHarness(t, 8, 4, func(c *Config) { c.MaxGroups = 16 })
	for i := range 300 {
		h.now += time.Second
		h.stranger(99, i, 0, 1, nil)
		h.drain()
	}
	for i := range 6 {
		h.stranger(i, 1, 0, 1, nil)
		h.want("pre")
		h.drain()
	}
	for i := range 300 {
		h.stranger(99, 1000+i, 0, 1, nil)
		h.drain()
	}
	for i := range 6 {
		if n := h.m.shares.of[number(i)].groups; n != 1 {
			t.Errorf("node %d has %d groups left of one", i, n)
		}
		h.stranger(i, 1, 0, 1, func(r *wire.RequestHeader) { r.Sequence, r.First = 2, 2 })
		h.want("pre")
		h.drain()
	}
	if s := h.m.Stats(); s.Displaced == 0 || s.Busy != 0 {
		t.Errorf("%+v", s)
	}
	if got := h.m.shares.of[number(99)].groups; got > 16-6 {
		t.Errorf("one node has %d groups of 16 beside six others", got)
	}
}

// TestSharesEnd: the shares of nodes are released when requests and groups end.
func TestSharesEnd(t *testing.T) {
	spec.Covers(t, "SC-163")
	h := listed(t, nil)
	h.stranger(1, 1, 3, 1, nil)
	h.stranger(1, 2, 3, 400, nil)
	h.drain()
	if s := h.m.shares; len(s.of) != 1 || s.strangers.groups != 2 || s.bytes == 0 {
		t.Errorf("%+v, %d bytes, %v", s.strangers, s.bytes, s.of)
	}
	for len(h.m.table.list) > 0 {
		h.m.table.remove(h.m.table.list[0])
	}
	if s := h.m.shares; len(s.of) != 0 || s.strangers != (share{}) || s.bytes != 0 {
		t.Errorf("%+v, %d bytes, %v", s.strangers, s.bytes, s.of)
	}
}

// TestEarlyShares: Progress messages that one node sends without a request do not displace
// those of other nodes.
func TestEarlyShares(t *testing.T) {
	spec.Covers(t, "SC-163")
	h := newHarness(t, 8, 6, nil)
	for i := range uint64(1000) {
		p := wire.Progress{ReplyBits: i, There: 4096}
		h.step(Input{Kind: Arrival, From: number(1), Data: p.AppendTo(nil)})
	}
	h.hear(0, 77, 10_000, wire.OK)
	for i := range uint64(1000) {
		p := wire.Progress{ReplyBits: i, There: 4096}
		h.step(Input{Kind: Arrival, From: number(2), Data: p.AppendTo(nil)})
	}
	n := 0
	for _, e := range h.m.pipelines.early {
		if e.from.parent == h.members.NID(0) {
			n++
		}
	}
	if n != 1 || len(h.m.pipelines.early) > 2*maxEarlyOfOne+1 {
		t.Errorf("%d of the parent, %d in all", n, len(h.m.pipelines.early))
	}
}

// TestStrangerTombstones: a stranger that creates groups and ends them does not displace the
// tombstones of other nodes' groups.
func TestStrangerTombstones(t *testing.T) {
	spec.Covers(t, "SC-162")
	h := listed(t, nil)
	h.admitted(func(r *wire.RequestHeader) { r.Flags |= wire.FlagLast })
	h.drain()
	for i := range maxTombstones {
		h.stranger(1, i, 0, 1, func(r *wire.RequestHeader) { r.Flags |= wire.FlagLast | wire.FlagModule })
		h.step(Input{Kind: InSent, ID: h.find(DoReply).ID, Child: Upward})
	}
	if n := len(h.m.table.tombstones.of); n != maxTombstones/4+1 {
		t.Errorf("%d tombstones", n)
	}
	h.id = 0
	h.admitted(func(r *wire.RequestHeader) { r.Sequence, r.First = 2, 2 })
	if h.want("refuse"); h.refusal().Status != wire.ENOGROUP {
		t.Errorf("%v", h.refusal())
	}
}
