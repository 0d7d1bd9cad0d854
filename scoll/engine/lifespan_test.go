package engine

import (
	"math"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/wire"
)

// next delivers the broadcast with a sequence number over the known group.
func (h *harness) next(sequence uint64, flags wire.Flags) {
	h.t.Helper()
	header := h.header()
	header.Sequence, header.First, header.Flags = sequence, sequence, flags
	h.deliver(h.parent(), header, false, "")
}

// TestLast: SC-99, SC-A12 and SC-84: a request with the flag Last ends the group when its
// answer has been delivered and earlier requests have ended. A late message finds a tombstone,
// even if it contains the list of members.
func TestLast(t *testing.T) {
	spec.Covers(t, "SC-84", "SC-99", "SC-A12")
	h := newHarness(t, 8, 7, nil)
	h.running(nil)
	first := h.id
	h.next(2, wire.FlagLast)
	h.want("pre")
	h.step(Input{Kind: InPreRequest})
	h.step(Input{Kind: InIncoming})
	h.leave()
	if len(h.m.table.list) != 1 {
		t.Fatal("the group is gone before its first request")
	}
	h.id = first
	h.leave()
	if len(h.m.table.list) != 0 {
		t.Fatal("the group is still there")
	}
	for range 2 {
		h.next(3, 0)
		h.want("refuse")
		if h.refusal().Status != wire.ENOGROUP {
			t.Errorf("a late message: %v", h.refusal().Status)
		}
		h.admitted(nil) // the request contains the list of members
		h.want("refuse")
	}
	h.advance() // the tombstone of the group expires
	if len(h.m.table.tombstones.of) != 0 || h.now < 2*time.Minute {
		t.Errorf("tombstones: %d at %v", len(h.m.table.tombstones.of), h.now)
	}
}

// TestLastOutOfBand: SC-99, SC-24: the last broadcast over an out-of-band group removes the
// group from the members' tables. The group can be used again at once, even at a member that
// did not get the last broadcast.
func TestLastOutOfBand(t *testing.T) {
	spec.Covers(t, "SC-24", "SC-99")
	c := newCluster(t, 8, nil)
	o := Outgoing{Members: c.members, Flags: wire.FlagOOB | wire.FlagLast, Payload: []byte("last")}
	group := wire.GroupID{Index: 5}
	c.run(0)
	c.nodes[2].service.reject = wire.EBUSY // node 2 refuses the first broadcast, and node 3 below does not get it
	c.want(c.broadcast(0, group, Outgoing{Members: c.members, Flags: wire.FlagOOB}), 0, 2, 3)
	c.nodes[2].service.reject = wire.OK
	c.want(c.broadcast(0, group, o), 0)
	for _, n := range c.nodes {
		if len(n.m.table.list)+len(n.m.table.tombstones.of) != 0 {
			t.Errorf("node %d knows %v", n.id, n.m.Groups())
		}
	}
	c.want(c.broadcast(0, group, Outgoing{Members: c.members, Flags: wire.FlagOOB}), 0)
	c.nodes[4].service.reject = wire.EBUSY // node 4 refuses the last broadcast, and nodes 5, 6 and 7 do not get it
	c.want(c.broadcast(0, group, o), 0, 4, 5, 6, 7)
	c.nodes[4].service.reject = wire.OK
	c.want(c.broadcast(0, group, Outgoing{Members: c.members, Flags: wire.FlagOOB}), 0)
}

// TestLastOutOfBandInUse: SC-A12: the last broadcast over an out-of-band group does not affect
// another broadcast that is under way.
func TestLastOutOfBandInUse(t *testing.T) {
	spec.Covers(t, "SC-A12")
	h := newHarness(t, 8, 7, nil)
	for i, flags := range []wire.Flags{wire.FlagOOB, wire.FlagOOB | wire.FlagLast} {
		sequence := uint64(i + 1)
		h.id = 0
		h.admitted(func(r *wire.RequestHeader) {
			r.Sequence, r.First, r.Flags, r.Group = sequence, sequence, flags, wire.GroupID{Index: 3, Digest: h.members.Digest()}
		})
		if h.effects[0].Kind == CallMap {
			h.step(Input{Kind: InMapped, Members: h.members})
		}
		h.want("pre")
	}
	h.step(Input{Kind: InPreRequest}) // the request of the last broadcast is in pre-request
	h.step(Input{Kind: InIncoming})
	h.leave()
	if len(h.m.table.list) != 1 {
		t.Error("the group is gone")
	}
}

// lastOutOfBand delivers to a leaf the last broadcast over an out-of-band group that its service maps.
func (h *harness) lastOutOfBand(sequence, first uint64, flags wire.Flags) {
	h.t.Helper()
	h.id = 0
	h.admitted(func(r *wire.RequestHeader) {
		r.Sequence, r.First, r.Flags = sequence, first, wire.FlagOOB|wire.FlagLast|flags
		r.Group = wire.GroupID{Index: 3, Digest: h.members.Digest()}
		if flags&wire.FlagSubset != 0 {
			r.Live = h.members.Digest()
		}
	})
	h.want("map")
	h.step(Input{Kind: InMapped, Members: h.members})
}

// TestLastOutOfBandTwice: SC-160, SC-A20: a copy of the last broadcast over an out-of-band group does not run
// again, although the group has left the table. Another attempt is answered with the result of the first, and
// the next broadcast runs.
func TestLastOutOfBandTwice(t *testing.T) {
	spec.Covers(t, "SC-160", "SC-A20")
	for _, flags := range []wire.Flags{0, wire.FlagSubset} {
		h := newHarness(t, 8, 7, nil)
		h.lastOutOfBand(1, 1, flags)
		h.want("pre")
		h.end()
		if len(h.m.table.list) != 0 {
			t.Fatal("the group is still in the table")
		}
		h.lastOutOfBand(1, 1, flags)
		h.want("")
		h.one("replayed", h.m.Stats().Replayed)
		if flags&wire.FlagSubset != 0 {
			h.lastOutOfBand(2, 1, flags)
			if h.want("pre"); !h.effects[0].Again {
				t.Error("another attempt runs again")
			}
			h.end()
		}
		h.lastOutOfBand(3, 3, flags)
		if h.want("pre"); h.effects[0].Again {
			t.Error("the next broadcast does not run")
		}
		h.end()
	}
}

// TestGroupComesBack: SC-3: a member dropped a group because discovery reported a death by
// mistake, and got the group again. The member can be the root of the group as before.
func TestGroupComesBack(t *testing.T) {
	spec.Covers(t, "SC-3")
	c := newCluster(t, 8, nil)
	c.run(0)
	g := c.create(0, wire.Tree{}, false)
	c.want(c.broadcast(0, g, Outgoing{}), 0)
	c.want(c.broadcast(5, g, Outgoing{}), 5)
	n := c.nodes[5]
	n.news = 0
	c.net.Command(5, "news")
	c.run(0)
	if len(n.m.table.list) != 0 {
		t.Fatal("the group has outlived its creator")
	}
	n.m.health.known[simNID(0)] = vital{alive: true, lifetime: 1}
	n.m.health.epoch++
	c.want(c.broadcast(0, g, Outgoing{}), 0)
	c.want(c.broadcast(5, g, Outgoing{}), 5)
}

// TestLastIsAlone: SC-A12: the root refuses the last broadcast while others are under way, and
// refuses any broadcast after it.
func TestLastIsAlone(t *testing.T) {
	spec.Covers(t, "SC-A12")
	h := newHarness(t, 2, 0, nil)
	h.root(wire.OK)
	id := h.id
	h.begin(wire.EBUSY, Outgoing{Flags: wire.FlagLast})
	h.id = id
	h.childReplies(1, ours)
	h.step(Input{Kind: InReply})
	h.step(Input{Kind: InPostReply})
	h.want("free")
	h.begin(wire.OK, Outgoing{Flags: wire.FlagLast})
	h.id = 0
	h.begin(wire.ENOGROUP, Outgoing{})
	h.begin(wire.ENOGROUP, Outgoing{Flags: wire.FlagLast})
}

// TestLastLive: SC-A12, SC-A20: over a regular group the last broadcast cannot go to the live members only:
// those that have run one attempt would have ended the group when the next one comes. Over an out-of-band
// group it can.
func TestLastLive(t *testing.T) {
	spec.Covers(t, "SC-A12", "SC-A20")
	h := newHarness(t, 2, 0, nil)
	h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: h.members}})
	h.group = h.find(Created).Group
	h.begin(wire.EINVAL, Outgoing{Flags: wire.FlagLast | wire.FlagSubset})
	h.begin(wire.OK, Outgoing{Flags: wire.FlagSubset})
	h.id, h.group = 0, wire.GroupID{Index: 3}
	h.begin(wire.OK, Outgoing{Members: h.members, Flags: wire.FlagLast | wire.FlagSubset | wire.FlagOOB})
}

// TestWindow: a root has no more broadcasts under way than fit the members' window.
func TestWindow(t *testing.T) {
	h := newHarness(t, 2, 0, nil)
	h.root(wire.OK)
	h.m.table.list[0].pace.size = 2 * windowSize
	for range windowSize - 1 {
		h.id = 0
		h.begin(wire.OK, Outgoing{})
	}
	h.begin(wire.OK, Outgoing{})
	h.one("waiting", h.m.stats.Waited)
	var w window
	for n := uint64(1); n < 3000; n++ {
		if n%7 != 0 && (!w.add(n) || w.add(n)) || n > windowSize && w.add(n-windowSize) {
			t.Fatalf("number %d", n)
		}
		if before := n - 200; n > 207 && before%7 == 0 && (w.has(before) || !w.add(before) || !w.has(before) || w.add(before)) {
			t.Fatalf("number %d after %d", before, n)
		}
	}
	if !w.add(1<<40) || w.add(2999) || w.add(1<<40) || !w.has(2999) || w.has(1<<40+1) {
		t.Error("after a jump")
	}
	for range 2 { // sequence numbers near the highest one
		w.add(math.MaxUint64 - 1)
		w.add(math.MaxUint64)
	}
	if w.add(math.MaxUint64) || !w.add(math.MaxUint64-2) {
		t.Error("at the end")
	}
}

// TestCreatorDies: SC-101, SC-103: when a group's creator dies the members end the group; the
// death of another member does not end it.
func TestCreatorDies(t *testing.T) {
	spec.Covers(t, "SC-101", "SC-102", "SC-103")
	h := newHarness(t, 8, 7, nil)
	for i := range 7 {
		h.step(Input{Kind: Health, From: h.members.NID(i), Alive: true})
	}
	h.running(nil)
	h.leave()
	h.step(Input{Kind: Health, From: h.members.NID(3), Lifetime: 1})
	h.next(2, 0)
	h.want("pre")
	h.step(Input{Kind: Health, From: h.members.NID(0), Lifetime: 1})
	h.next(3, 0)
	h.want("refuse")
	if h.refusal().Status != wire.ENOGROUP {
		t.Errorf("%v", h.refusal())
	}
	h.one("destroyed", h.m.Stats().Destroyed)
	h.drain() // the group leaves the table
	h.step(Input{Kind: Health, From: h.members.NID(0), Alive: true, Lifetime: 1})
	h.group.Index++
	h.admitted(nil)
	h.want("pre")
	h.step(Input{Kind: Health, From: h.members.NID(0), Alive: true, Lifetime: 1})
	if len(h.m.table.list) != 1 {
		t.Error("SC-102: a group of the present life is gone")
	}
}

// TestCreatorReboots: SC-102, SC-158: a higher incarnation in a message of the creator ends the groups of
// its earlier incarnations, and messages of an earlier incarnation are refused.
func TestCreatorReboots(t *testing.T) {
	spec.Covers(t, "SC-102", "SC-158")
	h := newHarness(t, 8, 4, nil)
	h.running(nil)
	h.childrenReply()
	h.leave()
	old := h.group
	h.group.Incarnation++
	h.admitted(func(r *wire.RequestHeader) { r.RootIncarnation++ })
	h.want("pre")
	if len(h.m.table.list) != 1 || h.m.Stats().Destroyed != 1 {
		t.Errorf("%d groups", len(h.m.table.list))
	}
	h.group = old
	h.admitted(func(r *wire.RequestHeader) { r.Sequence, r.First = 2, 2 })
	if h.refusal().Status != wire.EREBOOT {
		t.Errorf("%v", h.refusal())
	}
}

// childrenReply makes all children of the latest request reply.
func (h *harness) childrenReply() {
	h.t.Helper()
	for i, c := range h.m.requests.get(h.id).children {
		h.childReplies(c.Rank, nil)
		h.step(Input{Kind: InReply, Child: i})
	}
	h.step(Input{Kind: InWithdrawn})
}

// TestRootReboots: SC-102: of two incarnations of a root the later one counts, also in
// out-of-band groups, and its sequences start again.
func TestRootReboots(t *testing.T) {
	spec.Covers(t, "SC-102")
	h := newHarness(t, 8, 4, nil) // node 4 is a child of the root
	incarnation := func(incarnation uint64) {
		h.admitted(func(r *wire.RequestHeader) {
			r.Flags |= wire.FlagOOB
			r.Group = wire.GroupID{Index: 3, Digest: h.members.Digest()}
			r.RootIncarnation = incarnation
		})
	}
	incarnation(7)
	h.step(Input{Kind: InMapped, Members: h.members})
	h.want("pre")
	incarnation(8)
	h.want("pre")
	incarnation(7)
	h.want("tell0 refuse") // the root is asked whether its later incarnation is still the present one
	if h.refusal().Status != wire.EREBOOT {
		t.Errorf("%v", h.refusal())
	}
	h.one("rebooted", h.m.Stats().Rebooted)
}

// confirms delivers a member's answer to the question of the latest step.
func (h *harness) confirms(rank int, incarnation uint64) {
	h.t.Helper()
	h.answers(rank, h.question(rank), incarnation)
}

// question returns the nonce of the question to a member in the latest step.
func (h *harness) question(rank int) uint64 {
	h.t.Helper()
	e := h.find(DoTell)
	if e.To != h.members.NID(rank) {
		h.t.Fatalf("%v is asked, not member %d", e.To, rank)
	}
	question, err := wire.ParseIdentity(h.out.Buf[e.Data.Begin:e.Data.End])
	if err != nil || question.Kind != wire.Ask {
		h.t.Fatalf("%+v, %v", question, err)
	}
	return question.Nonce
}

// answers delivers a member's answer to the question with a nonce.
func (h *harness) answers(rank int, nonce, incarnation uint64) {
	h.t.Helper()
	answer := wire.Identity{Nonce: nonce, Incarnation: incarnation, Kind: wire.Tell}
	h.step(Input{Kind: Arrival, From: h.members.NID(rank), Data: answer.AppendTo(nil)})
}

// TestBitsOfIncarnations: SC-153: answers to an earlier incarnation of a node match nothing.
func TestBitsOfIncarnations(t *testing.T) {
	spec.Covers(t, "SC-153")
	bits := map[uint64]bool{}
	for incarnation := range uint64(50) {
		h := newHarness(t, 2, 0, func(c *Config) { c.Incarnation = incarnation + 1 })
		h.root(wire.OK)
		bits[h.bits] = true
	}
	if len(bits) != 50 {
		t.Errorf("%d different match bits", len(bits))
	}
}

// TestDeathEndsWait: SC-137, SC-158: if discovery reports a death, the wait for that child ends
// at once. A request is not sent to a child that is known to be dead.
func TestDeathEndsWait(t *testing.T) {
	spec.Covers(t, "SC-137", "SC-158")
	h := newHarness(t, 8, 4, nil)
	h.running(nil)
	h.step(Input{Kind: Health, From: h.members.NID(6), Lifetime: 1})
	h.want("unpost0 child0:node is down")
	h = newHarness(t, 8, 4, nil)
	h.step(Input{Kind: Health, From: h.members.NID(6), Lifetime: 1})
	h.admitted(nil)
	h.step(Input{Kind: InPreRequest})
	h.want("child0:node is down send1 incoming")
	h.step(Input{Kind: Health, From: h.members.NID(5), Alive: true})
	h.want("")
	h.step(Input{Kind: Health, From: h.members.NID(5), Alive: true, Lifetime: 1})
	h.want("unpost1 child1:node is down") // discovery did not see the death, only a later incarnation
}

// TestFailFast: SC-130: while a member is dead, a broadcast is refused, and so is the creation of a group on all
// members at once.
func TestFailFast(t *testing.T) {
	spec.Covers(t, "SC-130")
	h := newHarness(t, 3, 0, func(c *Config) { c.Watched = true })
	h.root(wire.EHOSTDOWN)
	plan, err := h.m.Plan(&Outgoing{Group: h.group, Service: testService}, nil)
	if len(plan.Dead) != 2 || err != wire.EHOSTDOWN {
		t.Errorf("%v, %v", plan.Dead, err)
	}
	h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: h.members, Flags: wire.FlagModule}})
	h.want("created:node is down")
	for i := 1; i < 3; i++ {
		h.step(Input{Kind: Health, From: h.members.NID(i), Alive: true})
	}
	h.begin(wire.OK, Outgoing{})
}

// TestLiveSubset: SC-97, SC-A20: a broadcast to the live members goes over a tree of these.
// Later attempts reach members that did not agree about the live nodes at first, and no member
// runs the broadcast twice.
func TestLiveSubset(t *testing.T) {
	spec.Covers(t, "SC-97", "SC-A20")
	c := newCluster(t, 16, func(c *cluster, _ *sim.Config[*packet]) {
		c.watch = true
		c.cfg.Propagation = 20 * time.Millisecond
	})
	c.run(0)
	g := c.create(0, wire.Tree{}, true)
	c.net.Kill(8)
	c.lateNews = map[sim.NodeID]bool{12: true}
	c.run(2 * time.Millisecond)
	c.net.At(c.net.Now()+10*time.Millisecond, func() { c.net.Command(12, "news") })
	r := c.broadcast(0, g, Outgoing{Flags: wire.FlagSubset, Payload: []byte("x")})
	want := []int{1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15}
	if len(r.missing) != 0 || !slices.Equal(r.answered, want) || c.nodes[0].m.Stats().Again != 1 {
		t.Fatalf("answered %v, missing %v, %d more attempts", r.answered, r.missing, c.nodes[0].m.Stats().Again)
	}
	for _, id := range want {
		if c.nodes[id].ran["x"] != 1 {
			t.Errorf("node %d ran %d times", id, c.nodes[id].ran["x"])
		}
	}
}

// TestLiveSubsetGivesUp: SC-A20: after three more attempts the root gives up, and reports as missing
// the members that still do not agree with it about which members are alive.
func TestLiveSubsetGivesUp(t *testing.T) {
	spec.Covers(t, "SC-A20")
	h := newHarness(t, 4, 0, nil)
	h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: h.members}})
	h.group = h.find(Created).Group
	h.begin(wire.OK, Outgoing{Flags: wire.FlagSubset})
	id := h.id
	for attempt := range uint64(maxAttempts + 1) {
		for i, rank := range []int{2, 1} {
			h.childReplies(rank, func(r *wire.ReplyHeader, in *Input) {
				ours(r, in)
				r.Sequence = 1 + attempt
				r.Flags |= wire.ReplyCollective
				r.Status = wire.ESTALE
			})
			h.step(Input{Kind: InReply, ID: id, Child: i})
		}
		h.step(Input{Kind: InWithdrawn, ID: id})
		if attempt < maxAttempts {
			h.want("")
			begin := h.now
			h.advance()
			if h.find(CallPreRequest); h.now-begin != time.Second {
				t.Fatalf("rested %v", h.now-begin)
			}
			h.step(Input{Kind: InPreRequest, ID: id})
			h.want("send0 send1")
		}
	}
	h.want("post")
	if len(h.out.Missing) != 3 {
		t.Errorf("%v", h.out.Missing)
	}
}

// has reports whether the number was added to the window. Numbers below the window count as
// added.
func (w *window) has(n uint64) bool {
	return n <= w.top && (w.top-n >= windowSize || w.bits[n%windowSize/64]>>(n%64)&1 != 0)
}
