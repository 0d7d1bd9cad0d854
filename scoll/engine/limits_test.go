package engine

import (
	"hash/maphash"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
	"ulnet/scoll/tree"
	"ulnet/scoll/wire"
)

// TestMaxPayload: SC-10 and SC-A17: the maximum payload of a message can be configured as 1 MiB
// or 2 MiB. Bulk data is fetched with the fewest GETs that this maximum allows.
func TestMaxPayload(t *testing.T) {
	spec.Covers(t, "SC-10", "SC-A17")
	const n, bulk = 6, 5<<20 + 1
	for setting, want := range map[int]int{0: 6, 1 << 20: 6, 2 << 20: 3} {
		gets := map[sim.NodeID]int{}
		c := newCluster(t, n, func(c *cluster, _ *sim.Config[*packet]) {
			c.cfg.MaxPayload = setting
			c.tap = func(from, _ sim.NodeID, p *packet) {
				if p.kind == "get" {
					gets[from]++
				}
			}
		})
		c.run(0)
		g := c.create(0, wire.Tree{}, false)
		c.nodes[0].bulk = make([]byte, bulk)
		c.want(c.broadcast(0, g, Outgoing{Bulk: bulk}), 0)
		for id := sim.NodeID(1); id < n; id++ {
			if gets[id] != want || len(c.nodes[id].bulk) != bulk {
				t.Errorf("max payload %d: node %d made %d GETs, want %d", setting, id, gets[id], want)
			}
		}
	}
}

// TestFiveThousand: SC-A15: the list of a group of 5000 members takes several GETs at every hop; each
// node fetches it from its parent. Only a long run has 5000 members: others have 1000, and shorter GETs.
func TestFiveThousand(t *testing.T) {
	spec.Covers(t, "SC-A15")
	effort.OneGoroutine(t)
	n, chunk := effort.Of(1000, 1000, 5000), effort.Of(12<<10, 12<<10, 64<<10)
	const root = 77
	gets := make([]int, n)
	shape := tree.Tree{Topology: tree.KNomial(16), N: n, Root: root}
	seed, parsed := maphash.MakeSeed(), map[uint64]*wire.Membership{}
	c := newCluster(t, n, func(c *cluster, _ *sim.Config[*packet]) {
		c.unchecked = true
		c.cfg = Config{RTT: 20 * time.Millisecond, MaxPayload: chunk}
		c.parse = func(b []byte) (*wire.Membership, error) { // shares one parsed list: 5000 copies would take 3 GB
			key := maphash.Bytes(seed, b)
			m := parsed[key]
			var err error
			if m == nil {
				m, err = wire.ParseMembership(b)
				parsed[key] = m
			}
			return m, err
		}
		c.tap = func(from, to sim.NodeID, p *packet) {
			if p.kind == "get" {
				gets[from]++
				if parent, _ := shape.Parent(int(from)); parent != int(to) {
					t.Errorf("node %d fetches from %d", from, to)
				}
			}
		}
	})
	c.run(0)
	g := c.create(root, wire.Tree{Type: wire.KNomial, K: 16}, true)
	if s := c.nodes[root].created[0].Status; s != wire.OK || len(parsed) != 1 {
		t.Fatalf("created: %v; %d different lists", s, len(parsed))
	}
	want := (c.members.Size() + chunk - 1) / chunk
	for i, got := range gets {
		if i != root && (got != want || want < 3) {
			t.Fatalf("node %d fetched the list in %d GETs, want %d", i, got, want)
		}
	}
	if r := c.broadcast(root, g, Outgoing{Payload: []byte("x")}); len(r.answered) != n-1 {
		t.Errorf("%d answered", len(r.answered))
	}
}

// TestMaxMembers: SC-A15, SC-160: a group with more than MaxMembers members is refused at its
// creator, and at each node that receives its list.
func TestMaxMembers(t *testing.T) {
	spec.Covers(t, "SC-160", "SC-A15")
	h := newHarness(t, 8, 0, func(c *Config) { c.MaxMembers = 7 })
	for _, flags := range []wire.Flags{0, wire.FlagModule} {
		h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: h.members, Flags: flags}})
		h.want("created:" + wire.EMAXMEMBERS.String())
	}
	h = newHarness(t, 8, 4, func(c *Config) { c.MaxMembers = 7 })
	h.deliver(0, h.header(), true, "x")
	if h.want("refuse"); h.refusal().Status != wire.EMAXMEMBERS {
		t.Errorf("%v", h.refusal().Status)
	}
	h = newHarness(t, 8, 4, nil)
	h.admitted(func(r *wire.RequestHeader) {
		r.Flags, r.List = wire.FlagList, wire.RMA{Bits: 1, Length: maxListSize + 1}
	})
	if h.want("refuse"); h.refusal().Status != wire.EMSGSIZE {
		t.Errorf("%v", h.refusal().Status)
	}
}

// TestListsAtATime: SC-156: the total size of lists that are being fetched is bounded. When a
// fetch ends or fails, its size is available to others again.
func TestListsAtATime(t *testing.T) {
	spec.Covers(t, "SC-156")
	h := newHarness(t, 8, 4, nil)
	fetch := func(index uint64, want string) {
		t.Helper()
		h.id, h.group.Index = 0, index
		h.admitted(func(r *wire.RequestHeader) {
			r.Flags, r.List = wire.FlagList, wire.RMA{Bits: 1, Length: maxListSize * 2 / 3}
		})
		h.want(want)
	}
	fetch(1, "fetch")
	first := h.id
	if fetch(2, "refuse"); h.refusal().Status != wire.EMAXLISTS {
		t.Errorf("%v", h.refusal().Status)
	}
	h.step(Input{Kind: InFetched, ID: first, Data: h.members.AppendTo(nil)})
	h.want("pre")
	fetch(3, "fetch")
	h.step(Input{Kind: InFetched, Status: wire.EIO})
	fetch(4, "fetch")
	h.advance()
	if fetch(5, "fetch"); h.m.lists != maxListSize*2/3 {
		t.Errorf("%d bytes", h.m.lists)
	}
}

// TestListsOfOne: SC-156, SC-160: if the lists of a node cannot be fetched, its requests occupy
// a quarter of the slots, and requests of other nodes still run.
func TestListsOfOne(t *testing.T) {
	spec.Covers(t, "SC-156", "SC-160")
	h := newHarness(t, 8, 4, func(c *Config) { c.MaxActive = 12 })
	for index := uint64(2); index < 7; index++ {
		h.id, h.group.Index = 0, index
		h.admitted(func(r *wire.RequestHeader) { r.Flags, r.List = wire.FlagList, wire.RMA{Bits: 1, Length: 300} })
		if index < 5 {
			h.want("fetch")
			continue
		}
		if h.want("refuse"); h.refusal().Status != wire.EMAXACTIVE || h.m.Stats().Busy != index-4 {
			t.Errorf("%v, %+v", h.refusal().Status, h.m.Stats())
		}
	}
	h.id, h.group.Index = 0, 1
	h.admitted(nil)
	h.want("pre")
}

// TestMaxChildren: SC-156, SC-160: neither by a broadcast nor by the creation of a group can a
// node make a member connect to an unlimited number of nodes. Roots have no such limit.
func TestMaxChildren(t *testing.T) {
	spec.Covers(t, "SC-156", "SC-160")
	for _, test := range []struct {
		most  int
		flags wire.Flags
		want  wire.Status
	}{{1, 0, wire.EINVAL}, {1, wire.FlagModule, wire.EINVAL}, {2, 0, wire.OK}} {
		h := newHarness(t, 8, 4, func(c *Config) { c.MaxChildren = test.most }) // member 4 has two children
		h.admitted(func(r *wire.RequestHeader) { r.Flags |= test.flags })
		if test.want == wire.OK {
			h.want("pre")
			continue
		}
		if h.want("refuse"); h.refusal().Status != test.want || h.m.Stats().Protocol != 1 {
			t.Errorf("%v: %v, %+v", test.flags, h.refusal().Status, h.m.Stats())
		}
	}
	c := newCluster(t, 8, func(c *cluster, _ *sim.Config[*packet]) { c.cfg.MaxChildren = 2 })
	c.run(0)
	c.want(c.broadcast(0, c.create(0, wire.Tree{}, false), Outgoing{}), 0)
}

// TestMaxGroups: SC-156: the number of other nodes' groups is bounded, and incarnations of
// nodes that are not members are ignored.
func TestMaxGroups(t *testing.T) {
	spec.Covers(t, "SC-156")
	h := newHarness(t, 8, 4, func(c *Config) { c.MaxGroups = 3 })
	for index := uint64(1); index <= 4; index++ {
		h.group.Index = index
		h.id = 0
		h.admitted(nil)
	}
	if h.want("refuse"); h.refusal().Status != wire.EMAXGROUPS || h.m.Stats().Busy != 1 || len(h.m.Groups()) != 3 {
		t.Errorf("%v, %+v, %d groups", h.refusal().Status, h.m.Stats(), len(h.m.Groups()))
	}
	h.group = wire.GroupID{Creator: nid.MustParse("99@gni"), Incarnation: 8, Index: 9, Digest: h.members.Digest()}
	h.admitted(nil)
	if h.want("refuse"); h.refusal().Status != wire.EPROTO || len(h.m.incarnations.of) != 2 {
		t.Errorf("a creator that is no member: %v, %d incarnations, including this node's", h.refusal().Status, len(h.m.incarnations.of))
	}
}

// TestFlood: SC-156: one node floods a machine with requests. The machine runs three quarters
// of MaxActive of them and holds three quarters of what it may hold; other resources are
// bounded as well. Afterwards no state remains.
func TestFlood(t *testing.T) {
	spec.Covers(t, "SC-156")
	h := newHarness(t, 8, 4, func(c *Config) { c.MaxActive, c.MaxGroups = 16, 8 })
	for sequence := uint64(1); sequence <= 3000; sequence++ {
		h.id = 0
		h.group.Index = sequence % 50
		h.admitted(func(r *wire.RequestHeader) { r.Sequence, r.First = sequence, sequence })
		h.hear(0, sequence, 4096, wire.OK)
	}
	if n := len(h.m.requests.slots); n > 12+minHeld*3/4 || h.m.admission.taken != 12 || len(h.m.table.list) > 8 || h.m.Stats().Busy < 2000 {
		t.Errorf("%d requests, %d groups, %+v", n, len(h.m.table.list), h.m.Stats())
	}
	for h.m.requests.active > 0 { // the service never answers, so all requests expire
		h.id = h.m.requests.heap[0].id
		h.advance()
		for _, id := range active(h.m) {
			h.step(Input{Kind: InPreRequest, ID: id})
			h.step(Input{Kind: InReplyOut, ID: id})
		}
	}
	if len(h.m.requests.heap) != 0 || len(h.m.requests.byBits) != 0 || len(h.m.pipelines.byOrigin) != 0 {
		t.Error("something is left")
	}
}

// active lists the active requests of a machine.
func active(m *Machine) (ids []RequestID) {
	for _, r := range m.requests.slots {
		if r.phase != idle {
			ids = append(ids, r.id)
		}
	}
	return ids
}

// TestMemberOrder: SC-126: the order of the caller's list determines the tree, also at members
// that received the list.
func TestMemberOrder(t *testing.T) {
	spec.Covers(t, "SC-126")
	targets := testTargets(9, 1)
	slices.Reverse(targets[1:]) // an order that a caller may choose: the most distant racks first
	members, err := wire.NewMembership(targets)
	if err != nil {
		t.Fatal(err)
	}
	parents := map[sim.NodeID]sim.NodeID{}
	c := newCluster(t, 9, func(c *cluster, _ *sim.Config[*packet]) {
		c.tap = func(from, to sim.NodeID, p *packet) {
			if p.kind == "request" {
				parents[to] = from
			}
		}
	})
	c.members = members
	c.run(0)
	c.broadcast(0, c.create(0, wire.Tree{}, false), Outgoing{})
	at := func(rank int) sim.NodeID { return simID(members.NID(rank)) }
	for rank := 1; rank < 9; rank++ { // check that the tree is binomial in the given order
		if parents[at(rank)] != at(rank&(rank-1)) {
			t.Errorf("rank %d has parent %d", rank, parents[at(rank)])
		}
	}
	if at(1) != 8 || at(8) != 1 {
		t.Errorf("ranks %v", targets)
	}
}
