package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/wire"
)

// TestPiggyback: SC-17, SC-A11, SC-22 and SC-91: broadcasts over a regular group carry the list until all members have
// answered a broadcast. Broadcasts over an out-of-band group never carry it.
func TestPiggyback(t *testing.T) {
	spec.Covers(t, "SC-17", "SC-22", "SC-91", "SC-A11")
	var lists, sizes []int
	c := newCluster(t, 8, func(c *cluster, _ *sim.Config[*packet]) {
		c.tap = func(from, to sim.NodeID, p *packet) {
			if h, _, err := wire.ParseRequestHeader(p.data); err == nil && p.kind == "request" && from == 0 && to == 4 {
				lists, sizes = append(lists, int(h.ListSize)), append(sizes, len(p.data))
				if h.Group.Digest != c.members.Digest() {
					t.Error("SC-91: no digest")
				}
			}
		}
	})
	c.run(0)
	g := c.create(0, wire.Tree{}, false)
	c.net.Cut(sim.Nodes(7), sim.AllNodes)
	c.want(c.broadcast(0, g, Outgoing{}), 0, 7)
	c.net.Heal()
	c.want(c.broadcast(0, g, Outgoing{}), 0)
	c.want(c.broadcast(0, g, Outgoing{}), 0)
	if size := c.members.Size(); !slices.Equal(lists, []int{size, size, 0}) {
		t.Errorf("lists of %v bytes", lists)
	}
	sizes = nil
	c.want(c.broadcast(0, wire.GroupID{Index: 5}, Outgoing{Flags: wire.FlagOOB, Members: c.members}), 0)
	if !slices.Equal(sizes, []int{wire.RequestHeaderSize}) {
		t.Errorf("SC-22: out-of-band message of %v bytes", sizes)
	}
}

// TestLargeGroup: SC-A15, SC-18, SC-96: a list that is longer than a message is fetched from the parent. If such a
// group is to be created by its first broadcast, which must carry the list, that broadcast is refused (SC-20).
func TestLargeGroup(t *testing.T) {
	spec.Covers(t, "SC-18", "SC-20", "SC-96", "SC-A15")
	gets := map[sim.NodeID]sim.NodeID{}
	c := newCluster(t, 500, func(c *cluster, _ *sim.Config[*packet]) {
		c.tap = func(from, to sim.NodeID, p *packet) {
			if p.kind == "get" {
				gets[from] = to
			}
		}
	})
	c.run(0)
	g := c.create(3, wire.Tree{Type: wire.KNomial, K: 4}, true)
	if s := c.nodes[3].created[0].Status; s != wire.OK || len(gets) != 499 {
		t.Fatalf("created: %v, %d lists fetched", s, len(gets))
	}
	c.want(c.broadcast(3, g, Outgoing{Payload: make([]byte, wire.MaxMessage-wire.RequestHeaderSize)}), 3)
	for _, node := range c.nodes {
		if node.preRuns > 1 {
			t.Errorf("node %d was called for the creation", node.id)
		}
	}
	delayed := c.create(3, wire.Tree{}, false)
	c.start(3, delayed, Outgoing{})
	c.run(0)
	if !slices.Equal(c.nodes[3].refused, []wire.Status{wire.EMSGSIZE}) {
		t.Errorf("SC-20: %v", c.nodes[3].refused)
	}
}

// TestFailedCreation: SC-18 and SC-A15: the creation of a group on all members at once fails if a member is down. The
// members that were reached are then told that the group is gone.
func TestFailedCreation(t *testing.T) {
	spec.Covers(t, "SC-18", "SC-A15")
	c := newCluster(t, 8, nil)
	c.run(0)
	c.net.Crash(5)
	c.create(0, wire.Tree{}, true)
	if s := c.nodes[0].created[0].Status; s != wire.ETIMEDOUT {
		t.Errorf("created: %v", s)
	}
	c.run(time.Second)
	for _, node := range c.nodes {
		if node.id != 5 && len(node.m.table.list) != 0 {
			t.Errorf("node %d still has the group", node.id)
		}
	}
}

// TestSlowCreation: SC-96, SC-100: if a member takes a while to read a list, or to remove a
// group, it is not given up because of that.
func TestSlowCreation(t *testing.T) {
	spec.Covers(t, "SC-96", "SC-100")
	c := newCluster(t, 8, nil)
	c.run(0)
	for _, id := range []sim.NodeID{4, 7} {
		c.net.Pause(id)
		c.net.At(c.net.Now()+400*time.Millisecond, func() { c.net.Resume(id) })
	}
	g := c.create(0, wire.Tree{}, true)
	if s := c.nodes[0].created[0].Status; s != wire.OK {
		t.Fatalf("created: %v", s)
	}
	c.nodes[0].created = nil
	c.net.Pause(6)
	c.net.At(c.net.Now()+400*time.Millisecond, func() { c.net.Resume(6) })
	c.start(0, g, Outgoing{Flags: wire.FlagModule | wire.FlagLast})
	c.run(5 * time.Second)
	if len(c.nodes[0].created) != 1 || c.nodes[0].created[0].Status != wire.OK {
		t.Errorf("destroyed: %+v", c.nodes[0].created)
	}
}

// TestDestroy: SC-100: a group is destroyed by a broadcast without payload that has the flag
// Last.
func TestDestroy(t *testing.T) {
	spec.Covers(t, "SC-100")
	c := newCluster(t, 8, nil)
	c.run(0)
	g := c.create(0, wire.Tree{}, true)
	runs := c.nodes[7].preRuns
	var sizes []int
	c.tap = func(_, _ sim.NodeID, p *packet) {
		if h, _, err := wire.ParseRequestHeader(p.data); err == nil && h.Flags == wire.FlagLast|wire.FlagModule {
			sizes = append(sizes, int(h.PayloadSize))
		}
	}
	c.nodes[0].created = nil
	c.start(0, g, Outgoing{Flags: wire.FlagModule | wire.FlagLast})
	c.run(time.Second)
	for _, node := range c.nodes {
		if len(node.m.table.list) != 0 || node.m.requests.active != 0 {
			t.Errorf("node %d still has the group", node.id)
		}
	}
	if len(sizes) != 7 || slices.Max(sizes) != 0 || c.nodes[7].preRuns != runs || c.nodes[0].created[0].Status != wire.OK {
		t.Errorf("messages of %v", sizes)
	}
}

// TestOutOfBandMismatch: SC-93, SC-A10, SC-88: if a request's membership differs from the one
// that the service returned, the machine asks the service once more. If it still differs, the
// request is refused and not forwarded.
func TestOutOfBandMismatch(t *testing.T) {
	spec.Covers(t, "SC-88", "SC-92", "SC-93", "SC-94", "SC-A10")
	h := newHarness(t, 8, 4, nil)
	oob := func(r *wire.RequestHeader) {
		r.Flags |= wire.FlagOOB
		r.Group = wire.GroupID{Incarnation: 1, Index: 2, Digest: h.members.Digest()}
	}
	swapped := testTargets(8, 2)
	swapped[2], swapped[3] = swapped[3], swapped[2]
	other, _ := wire.NewMembership(swapped)
	h.admitted(oob)
	h.want("map")
	h.step(Input{Kind: InMapped, Members: other})
	h.want("map")
	h.step(Input{Kind: InMapped, Members: other})
	h.want("refuse")
	if h.refusal().Status != wire.ESTALE {
		t.Errorf("%v", h.refusal())
	}
	h.admitted(oob)
	h.step(Input{Kind: InMapped, Members: other})
	h.step(Input{Kind: InMapped, Members: h.members}) // MapGroup is called again, and returns the members that the root has
	h.want("pre")
	h.admitted(func(r *wire.RequestHeader) { oob(r); r.Sequence, r.First = 2, 2 })
	h.want("pre") // the group is known now (SC-92)
	h.step(Input{Kind: Register, Service: testService})
	h.admitted(func(r *wire.RequestHeader) { oob(r); r.Sequence, r.First = 3, 3 })
	if h.refusal().Status != wire.ENOTSUP {
		t.Errorf("SC-94: %v", h.refusal())
	}
}

// TestManyGroups: SC-85: each of eight nodes creates groups, a hundred in all. A broadcast over each group
// reaches all members, and each member knows all groups.
func TestManyGroups(t *testing.T) {
	spec.Covers(t, "SC-85")
	c := newCluster(t, 8, nil)
	c.run(0)
	for i := range 100 {
		root := sim.NodeID(i % 8)
		c.want(c.broadcast(root, c.create(root, wire.Tree{Type: wire.KAry, K: uint32(1 + i%4)}, i%3 == 0), Outgoing{}), int(root))
	}
	if n := len(c.nodes[3].m.table.list); n != 100 {
		t.Errorf("%d groups", n)
	}
}

// TestMemberRoot: SC-1, SC-86: a member of a regular group can be the root of another tree,
// also if the first broadcast has not reached all members.
func TestMemberRoot(t *testing.T) {
	spec.Covers(t, "SC-1", "SC-86")
	c := newCluster(t, 9, nil)
	c.run(0)
	g := c.create(0, wire.Tree{}, false)
	c.net.Cut(sim.Nodes(0), sim.Nodes(8))
	c.want(c.broadcast(0, g, Outgoing{}), 0, 8)
	c.net.Heal()
	for root := 1; root < 8; root++ {
		c.want(c.broadcast(sim.NodeID(root), g, Outgoing{}), root)
	}
}

// TestRefusedCreation: SC-18: a group is to be created on all members at once, and the broadcast for that is refused,
// here because its timeout is above MaxTimeout. No group is left.
func TestRefusedCreation(t *testing.T) {
	spec.Covers(t, "SC-18")
	h := newHarness(t, 2, 0, func(c *Config) { c.MaxTimeout = testRTT })
	o := Outgoing{Token: 1, Service: testService, Members: h.members, Flags: wire.FlagModule}
	h.step(Input{Kind: Create, Broadcast: &o})
	h.want("refused:invalid")
	if got := h.find(Refused).Status; got != wire.EINVAL || len(h.m.table.list) != 0 {
		t.Errorf("refused with %v; %d groups are left", got, len(h.m.table.list))
	}
}

// TestDeathEndsCreation: SC-137, SC-18: the death of a member ends the creation of
// a group at once.
func TestDeathEndsCreation(t *testing.T) {
	spec.Covers(t, "SC-18", "SC-137")
	h := newHarness(t, 2, 0, nil)
	h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: h.members, Flags: wire.FlagModule}})
	h.want("began send0")
	h.step(Input{Kind: Health, From: h.members.NID(1), Lifetime: 1})
	h.want("unpost0 withdraw")
	h.step(Input{Kind: InWithdrawn})
	if h.find(Created).Status != wire.EHOSTDOWN {
		t.Errorf("created: %v", h.find(Created).Status)
	}
}

// TestPiggybackAfterLive: SC-A11, SC-97: a broadcast to the live members does not make the
// group known to all members. Therefore the next broadcast carries the list as well.
func TestPiggybackAfterLive(t *testing.T) {
	spec.Covers(t, "SC-97", "SC-A11")
	h := newHarness(t, 3, 0, nil)
	h.step(Input{Kind: Health, From: h.members.NID(2), Lifetime: 1})
	h.live()
	h.childReplies(1, ours)
	h.step(Input{Kind: InReply})
	h.step(Input{Kind: InPostReply})
	h.step(Input{Kind: Health, From: h.members.NID(2), Alive: true, Lifetime: 1})
	h.step(Input{Kind: Broadcast, Broadcast: &Outgoing{Group: h.group, Service: testService, Token: 2}})
	header, _, err := wire.ParseRequestHeader(h.out.Buf[h.find(DoSend).Data.Begin:h.find(DoSend).Data.End])
	if err != nil || header.Flags&wire.FlagList == 0 {
		t.Errorf("%+v, %v", header, err)
	}
}
