package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

// quick steps the machine without checking its invariants, because that check takes time in
// proportion to the number of groups. It does not call t.Helper, which takes longer than a
// step.
func (h *harness) quick(in Input) {
	if in.ID == 0 {
		in.ID = h.id
	}
	h.out.Reset()
	h.wake = h.m.Step(h.now, in, &h.out)
	h.effects = append(h.effects[:0], h.out.Effects...)
	for _, e := range h.effects {
		switch e.Kind {
		case CallPreRequest, Began, CallMap, DoFetch:
			h.id = e.ID
		case DoSend:
			h.id, h.bits = e.ID, e.Bits
		}
	}
}

// oob delivers to a leaf a request over an out-of-band group, lets the leaf proceed up to pre-request, and
// reports whether the leaf accepts the request.
func (h *harness) oob(index, sequence uint64) (taken bool) {
	r := h.header()
	r.Group = wire.GroupID{Index: index, Digest: h.members.Digest()}
	r.Flags, r.Sequence, r.First = wire.FlagOOB, sequence, sequence
	h.id = 0
	h.quick(Input{Kind: Arrival, From: h.members.NID(0), Data: r.AppendTo(nil)})
	if len(h.effects) == 1 && h.effects[0].Kind == CallMap {
		h.quick(Input{Kind: InMapped, Members: h.members})
	}
	return len(h.effects) == 1 && h.effects[0].Kind == CallPreRequest
}

// regular delivers to a leaf a request over a group that the root created, lets the leaf proceed up to
// pre-request, and reports whether the leaf accepts the request. The message contains the list of members.
func (h *harness) regular(index, sequence uint64) (taken bool) {
	r := h.header()
	r.Group = wire.GroupID{Creator: h.members.NID(0), Incarnation: 7, Index: index, Digest: h.members.Digest()}
	list := h.members.AppendTo(nil)
	r.Flags, r.ListSize, r.Sequence, r.First, r.Nodes = wire.FlagList, uint32(len(list)), sequence, sequence, uint32(h.members.Len())
	h.id = 0
	h.quick(Input{Kind: Arrival, From: h.members.NID(0), Data: append(r.AppendTo(nil), list...)})
	return len(h.effects) == 1 && h.effects[0].Kind == CallPreRequest
}

// end makes the service of a leaf answer, which ends the request. It returns true, so that it can stand in a
// condition.
func (h *harness) end() bool {
	h.quick(Input{Kind: InPreRequest})
	h.quick(Input{Kind: InIncoming})
	h.quick(Input{Kind: Answer, Final: true})
	h.quick(Input{Kind: InPostReply})
	h.quick(Input{Kind: InSent, Child: Upward})
	h.quick(Input{Kind: InReplyOut})
	if len(h.effects) != 1 || h.effects[0].Kind != DoFree {
		h.t.Fatalf("%+v", h.effects)
	}
	return true
}

// ask broadcasts from the root of a group of two to the other member, which answers. It
// reports whether the root's machine refuses to send.
func (h *harness) ask(o Outgoing) (refused bool) {
	o.Token, o.Service = 1, testService
	h.id = 0
	if _, err := h.m.Plan(&o, nil); err != nil { // Plan makes the same check as NewRequest
		return true
	}
	h.quick(Input{Kind: Broadcast, Broadcast: &o})
	if h.effects[0].Kind != Began {
		return true
	}
	sequence := h.m.requests.get(h.id).header.Sequence
	h.quick(Input{Kind: InIncoming})
	r := wire.ReplyHeader{RootIncarnation: h.m.cfg.Incarnation, Sequence: sequence, Flags: wire.ReplyLast}
	h.quick(Input{Kind: Return, From: h.members.NID(1), Bits: h.bits, Length: wire.ReplyHeaderSize, Data: r.AppendTo(nil)})
	h.quick(Input{Kind: InReply})
	h.quick(Input{Kind: InPostReply})
	if h.effects[0].Kind != DoFree {
		h.t.Fatalf("%+v", h.effects)
	}
	return false
}

// flat calls use for n groups. It fails the test if the machine then holds more groups than it may, or more
// memory than after a fifth of the groups.
func (h *harness) flat(n int, use func(i int) (refused bool)) {
	h.t.Helper()
	var before int64
	for i := range n {
		if use(i) {
			h.t.Fatalf("group %d of %d is refused: %+v", i, n, h.m.Stats())
		}
		h.now += time.Millisecond
		if i == n/5 {
			before = heap()
		}
		if i%1000 == 0 {
			if err := h.m.invariants(); err != nil {
				h.t.Fatal(err)
			}
		}
	}
	if grown := heap() - before; grown > 1<<20 || len(h.m.table.list) > h.m.cfg.MaxGroups {
		h.t.Errorf("%d groups, %d bytes more after %d than after a fifth of them", len(h.m.table.list), grown, n)
	}
}

// TestGroupPerFile: SC-92, SC-156: there is a group for each of 100 000 files, out-of-band or
// created by another node. Neither members nor roots refuse any request, and their memory stays
// constant.
func TestGroupPerFile(t *testing.T) {
	spec.Covers(t, "SC-92", "SC-156")
	effort.OneGoroutine(t)
	n := effort.Of(20_000, 20_000, 100_000)
	few := func(c *Config) { c.MaxGroups = 256 }
	t.Run("member", func(t *testing.T) {
		h := newHarness(t, 2, 1, few)
		h.flat(n, func(i int) bool { return !h.oob(uint64(i+1), 1) || !h.end() })
	})
	t.Run("root", func(t *testing.T) {
		h := newHarness(t, 2, 0, few)
		h.flat(n, func(i int) bool {
			return h.ask(Outgoing{Group: wire.GroupID{Index: uint64(i + 1)}, Flags: wire.FlagOOB, Members: h.members})
		})
	})
	t.Run("regular", func(t *testing.T) {
		h := newHarness(t, 2, 1, few)
		h.flat(n, func(i int) bool { return !h.regular(uint64(i+1), 1) || !h.end() })
	})
}

// TestLeastRecentlyUsed: SC-156: a new group displaces the least recently used one, but never
// one over which a request is under way. If all others are in use, the refusal names the limit.
// Requests of other nodes and broadcasts of this node have caches of their own.
func TestLeastRecentlyUsed(t *testing.T) {
	spec.Covers(t, "SC-156")
	h := newHarness(t, 2, 1, func(c *Config) { c.MaxGroups = 3 })
	use := func(index, sequence uint64) {
		t.Helper()
		if !h.oob(index, sequence) {
			t.Fatalf("group %d is refused: %v", index, h.refusal().Status)
		}
		h.end()
	}
	use(1, 1)
	use(2, 1)
	use(3, 1)
	use(1, 2)
	use(4, 1)
	h.known(1, 3, 4)
	h.oob(3, 2) // this request stays under way
	first := h.id
	use(5, 1)
	use(6, 1)
	h.known(3, 5, 6)
	h.oob(5, 2)
	second := h.id
	h.oob(6, 2)
	if h.oob(7, 1) || h.refusal().Status != wire.EMAXGROUPS {
		t.Errorf("a fourth group while all are in use: %v", h.refusal().Status)
	}
	h.known(3, 5, 6)
	h.id = second
	h.end()
	use(7, 1)
	h.known(3, 6, 7)
	h.id = first
	h.end()
	for i := range uint64(9) {
		h.ours(10 + i)
	}
	h.known(3, 6, 7, 16, 17, 18)
	for i := range uint64(9) {
		use(30+i, 1)
	}
	h.known(6, 16, 17, 18, 37, 38)
	h.ours(16)
	h.ours(19)
	h.known(6, 16, 18, 19, 37, 38)
	if s := h.m.Stats(); s.Busy != 1 {
		t.Errorf("%+v", s)
	}
}

// ours broadcasts from this node over an out-of-band group. The other member does not answer, and Abort
// ends the broadcast.
func (h *harness) ours(index uint64) {
	h.t.Helper()
	o := Outgoing{Token: 1, Service: testService, Group: wire.GroupID{Index: index}, Flags: wire.FlagOOB, Members: h.members}
	h.id = 0
	h.step(Input{Kind: Broadcast, Broadcast: &o})
	h.want("began send0 incoming")
	h.step(Input{Kind: InIncoming})
	for h.m.requests.get(h.id) != nil && len(h.m.requests.heap) > 0 && h.m.requests.byBits[h.bits] != nil {
		h.m.now = h.now
		h.step(Input{Kind: Abort})
		h.step(Input{Kind: InReply})
		h.step(Input{Kind: InWithdrawn})
		h.step(Input{Kind: InPostReply})
	}
}

// known fails the test unless exactly the given groups are in the table.
func (h *harness) known(want ...uint64) {
	h.t.Helper()
	var got []uint64
	for _, g := range h.m.Groups() {
		got = append(got, g.ID.Index)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		h.t.Errorf("groups %v, want %v", got, want)
	}
	if err := h.m.invariants(); err != nil {
		h.t.Fatal(err)
	}
}

// TestPinnedGroups: SC-156: out-of-band groups of a service with Pinned stay in the cache,
// whatever other nodes do, and do not count towards its limit. Regular groups of that service
// are not pinned.
func TestPinnedGroups(t *testing.T) {
	spec.Covers(t, "SC-156")
	h := newHarness(t, 2, 1, func(c *Config) { c.MaxGroups = 3 })
	h.step(Input{Kind: Register, Service: testService, OOB: true, Pinned: true})
	h.oob(1, 1)
	h.end()
	h.step(Input{Kind: Register, Service: testService, OOB: true})
	for i := range uint64(9) {
		h.oob(10+i, 1)
		h.end()
	}
	h.known(1, 16, 17, 18)
	h.step(Input{Kind: Register, Service: testService, OOB: true, Pinned: true})
	for i := range uint64(9) {
		h.regular(20+i, 1)
		h.end()
	}
	h.known(1, 26, 27, 28)
	for i := range uint64(3) {
		h.regular(30+i, 1)
	}
	if h.regular(33, 1) || !h.oob(2, 1) {
		t.Errorf("with all slots taken by requests: %+v", h.m.Stats())
	}
	h.end()
	h.step(Input{Kind: Unregister, Service: testService})
	for _, id := range active(h.m) {
		h.id = id
		h.end()
	}
	h.step(Input{Kind: Register, Service: testService, OOB: true})
	for i := range uint64(5) {
		h.oob(40+i, 1)
		h.end()
	}
	h.known(42, 43, 44)
}

// TestHeldGroups: a group stays while the service has a handle of it, see Request.Group.
func TestHeldGroups(t *testing.T) {
	h := newHarness(t, 2, 1, func(c *Config) { c.MaxGroups = 3 })
	h.regular(1, 1)
	of := func(index uint64) wire.GroupID {
		return wire.GroupID{Creator: h.members.NID(0), Incarnation: 7, Index: index, Digest: h.members.Digest()}
	}
	first, second := h.m.HoldGroup(of(1), testService), h.m.HoldGroup(of(1), testService)
	if held := h.m.table.groups[keyOf(of(1), testService)]; held.lru.holds != 2 || h.m.HoldGroup(wire.GroupID{}, 0) != nil {
		t.Error("another group is held")
	}
	h.end()
	for i := range uint64(9) {
		h.regular(10+i, 1)
		h.end()
	}
	h.known(1, 17, 18)
	first()
	h.known(1, 17, 18)
	second()
	for i := range uint64(3) {
		h.regular(20+i, 1)
		h.end()
	}
	h.known(20, 21, 22)
	release := h.m.HoldGroup(of(22), testService)
	h.m.table.remove(h.m.table.groups[keyOf(of(22), testService)])
	release() // has no effect, because the group has left the table
	h.known(20, 21)
}

// TestStrangersKeepOut: a stranger that creates any number of groups does not displace groups
// that listed nodes use. It may displace a group that is no longer in use.
func TestStrangersKeepOut(t *testing.T) {
	spec.Covers(t, "SC-162")
	h := listed(t, func(c *Config) { c.MaxGroups = 16 })
	for i := range uint64(16) {
		h.id, h.group.Index = 0, 100+i
		h.admitted(nil)
		h.drain()
	}
	before := h.m.Groups()
	for i := range 300 {
		if h.stranger(i%7, i, 0, 1, nil); h.refusal().Status != wire.EMAXGROUPS {
			t.Fatalf("%v", h.refusal().Status)
		}
	}
	if got := h.m.Groups(); !slices.Equal(got, before) {
		t.Fatalf("groups %+v, before %+v", got, before)
	}
	h.now += 2 * h.m.cfg.MaxTimeout
	for i := range 300 {
		h.stranger(i%7, i, 0, 1, nil)
		h.want("pre")
		h.drain()
	}
	if n := h.m.shares.strangers.groups; n != 4 || len(h.m.Groups()) != 16 {
		t.Errorf("%d groups of strangers, %d in all", n, len(h.m.Groups()))
	}
}

// TestStrangersOutOfBand: an out-of-band group that a stranger's request created counts towards
// the strangers' share until a node that is on the list uses the group as well.
func TestStrangersOutOfBand(t *testing.T) {
	spec.Covers(t, "SC-162")
	h := newHarness(t, 2, 1, func(c *Config) { c.MaxGroups = 16 })
	h.step(Input{Kind: Listed, Listed: func(nid.NID) bool { return false }})
	for i := range uint64(9) {
		h.oob(10+i, 1)
		h.end()
	}
	h.known(15, 16, 17, 18)
	h.step(Input{Kind: Listed})
	h.oob(16, 2)
	h.end()
	h.step(Input{Kind: Listed, Listed: func(nid.NID) bool { return false }})
	for i := range uint64(9) {
		h.oob(20+i, 1)
		h.end()
	}
	h.known(16, 25, 26, 27, 28)
	if n := h.m.shares.strangers.groups; n != 4 {
		t.Errorf("%d groups of strangers", n)
	}
}
