package engine

import (
	"fmt"
	"slices"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/tree"
	"ulnet/scoll/wire"
)

// TestEntities: SC-4, SC-6 and SC-A1: the tree is over nodes, however many
// entities they have, and a node's service is called once for all of them.
func TestEntities(t *testing.T) {
	spec.Covers(t, "SC-4", "SC-6", "SC-A1")
	members, err := wire.NewMembership(testTargets(5, 3))
	if err != nil {
		t.Fatal(err)
	}
	requests := 0
	c := newCluster(t, 5, func(c *cluster, _ *sim.Config[*packet]) {
		c.tap = func(_, _ sim.NodeID, p *packet) {
			if h, _, err := wire.ParseRequestHeader(p.data); p.kind == "request" {
				if requests++; err != nil || h.Nodes != 5 {
					t.Errorf("a tree of %d nodes, %v", h.Nodes, err)
				}
			}
		}
	})
	c.members = members
	c.run(0)
	c.want(c.broadcast(0, c.create(0, wire.Tree{}, false), Outgoing{Payload: []byte("x")}), 0)
	for _, n := range c.nodes {
		if runs := n.ran["x"] + n.ran[""]; runs != 1 || n.m.Groups()[0].Entities != 15 {
			t.Errorf("node %d ran %d times, %+v", n.id, runs, n.m.Groups())
		}
	}
	if requests != 4 {
		t.Errorf("%d requests", requests)
	}
}

// TestRanks: SC-5: a rank is a position in one group, from 0 on: a node has different ranks in
// two groups, and can be the root of both.
func TestRanks(t *testing.T) {
	spec.Covers(t, "SC-5")
	c := newCluster(t, 4, nil)
	c.run(0)
	targets := testTargets(4, 1)
	one, err1 := wire.NewMembership(targets)
	other, err2 := wire.NewMembership([]wire.Target{targets[3], targets[1], targets[0], targets[2]})
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	for i, want := range [][2]int{{0, 2}, {1, 1}, {2, 3}, {3, 0}} {
		if a, b := one.Rank(simNID(sim.NodeID(i))), other.Rank(simNID(sim.NodeID(i))); a != want[0] || b != want[1] {
			t.Errorf("node %d has ranks %d and %d, want %v", i, a, b, want)
		}
	}
	if rank := one.Rank(simNID(4)); rank != -1 {
		t.Errorf("a node that is no member has rank %d", rank)
	}
	for _, m := range []*wire.Membership{one, other} {
		c.members = m
		c.want(c.broadcast(3, c.create(3, wire.Tree{}, false), Outgoing{}), 3)
	}
}

// TestReplyPath: SC-44 and SC-134: each node sends one reply, to its parent, when it has got
// the replies of all its children.
func TestReplyPath(t *testing.T) {
	spec.Covers(t, "SC-44", "SC-134")
	const n = 23
	replies, heard := map[sim.NodeID]sim.NodeID{}, map[sim.NodeID]int{}
	shape := tree.Tree{Topology: tree.KNomial(4), N: n, Root: 5}
	c := newCluster(t, n, func(c *cluster, _ *sim.Config[*packet]) {
		c.tap = func(from, to sim.NodeID, p *packet) {
			if p.kind != "reply" {
				return
			}
			if _, again := replies[from]; again || heard[from] != len(shape.AppendChildren(nil, int(from))) {
				t.Errorf("node %d replies after %d of its children", from, heard[from])
			}
			replies[from] = to
			heard[to]++
		}
	})
	c.run(0)
	c.want(c.broadcast(5, c.create(5, wire.Tree{Type: wire.KNomial, K: 4}, false), Outgoing{}), 5)
	for rank := range n {
		if parent, ok := shape.Parent(rank); ok && int(replies[sim.NodeID(rank)]) != parent {
			t.Errorf("node %d replies to %d, its parent is %d", rank, replies[sim.NodeID(rank)], parent)
		}
	}
	if len(replies) != n-1 {
		t.Errorf("%d replies", len(replies))
	}
}

// TestMissingChild: SC-116 and SC-117: in a tree of 14, node 12 has no child 14 and sends to 13
// as soon as it gets the request.
func TestMissingChild(t *testing.T) {
	spec.Covers(t, "SC-116", "SC-117")
	var sent []string
	var c *cluster
	c = newCluster(t, 14, func(c2 *cluster, _ *sim.Config[*packet]) {
		c2.tap = func(from, to sim.NodeID, p *packet) {
			if p.kind == "request" && (from == 12 || to == 12) {
				sent = append(sent, fmt.Sprint(int(from), ">", int(to), " ", c.net.Now()))
			}
		}
	})
	c.run(0)
	c.broadcast(0, c.create(0, wire.Tree{}, false), Outgoing{})
	if want := []string{"8>12 1ms", "12>13 2ms"}; !slices.Equal(sent, want) {
		t.Errorf("sent %v, want %v", sent, want)
	}
}

// TestGroupID: SC-89 and SC-A13: two groups with the same members have the same digest and different numbers.
func TestGroupID(t *testing.T) {
	spec.Covers(t, "SC-89", "SC-A13")
	c := newCluster(t, 4, nil)
	c.run(0)
	a, b := c.create(0, wire.Tree{}, false), c.create(0, wire.Tree{Type: wire.KAry, K: 3}, true)
	if a.Index == b.Index || a.Digest != b.Digest || a.Digest != c.members.Digest() || a.Creator != simNID(0) || a.Incarnation == 0 {
		t.Errorf("%+v and %+v", a, b)
	}
}

// TestOnDemand: SC-92 and SC-131: the first message over an out-of-band group creates its
// state.
func TestOnDemand(t *testing.T) {
	spec.Covers(t, "SC-92", "SC-131")
	c := newCluster(t, 4, nil)
	c.run(0)
	known := func() (n int) {
		for _, node := range c.nodes {
			n += len(node.m.Groups())
		}
		return n
	}
	before := known()
	c.want(c.broadcast(1, wire.GroupID{Index: 1}, Outgoing{Flags: wire.FlagOOB, Members: c.members}), 1)
	if after := known(); before != 0 || after != 4 {
		t.Errorf("%d nodes knew the group before the broadcast, %d after", before, after)
	}
}

// TestNoOrder: SC-8: a broadcast may overtake an earlier one; both run.
func TestNoOrder(t *testing.T) {
	spec.Covers(t, "SC-8")
	h := newHarness(t, 8, 4, nil)
	for _, sequence := range []uint64{3, 2, 4} {
		h.id = 0
		h.admitted(func(r *wire.RequestHeader) { r.Sequence, r.First = sequence, sequence })
		h.want("pre")
		h.step(Input{Kind: InPreRequest})
		h.want("send0 send1 incoming")
	}
}

// TestLiveDigest: SC-97 and SC-A20: this node and the root consider equally many members alive,
// but different ones. The request is refused.
func TestLiveDigest(t *testing.T) {
	spec.Covers(t, "SC-97", "SC-A20")
	h := newHarness(t, 8, 4, nil)
	h.step(Input{Kind: Health, From: h.members.NID(3)})
	without := func(rank int) wire.Digest {
		m, err := wire.NewMembership(slices.Delete(testTargets(8, 2), rank, rank+1))
		if err != nil {
			t.Fatal(err)
		}
		return m.Digest()
	}
	subset := func(rank int) func(*wire.RequestHeader) {
		return func(r *wire.RequestHeader) {
			r.Flags, r.Nodes, r.Live = wire.FlagSubset, 7, without(rank)
			r.Tree = wire.Tree{Type: wire.KAry, K: 8}
		}
	}
	h.admitted(subset(5))
	if h.want("refuse"); h.refusal().Status != wire.ESTALE {
		t.Errorf("%v", h.refusal().Status)
	}
	h.admitted(subset(3))
	h.want("pre")
}
