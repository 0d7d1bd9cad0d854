package engine

import (
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/wire"
)

// TestRelist: SC-A11: a member that has lost the group gets the list from its parent, whatever
// its size, and no member runs the request twice.
func TestRelist(t *testing.T) {
	spec.Covers(t, "SC-A11")
	for i, n := range []int{8, 600, 600} {
		lost := []sim.NodeID{4, 4, 1}[i] // node 1 is a leaf: leaves have the shortest timeout
		c := newCluster(t, n, nil)
		c.run(0)
		g := c.create(0, wire.Tree{}, true)
		c.net.Kill(lost)
		c.net.Start(lost, false)
		c.run(10 * time.Millisecond)
		c.want(c.broadcast(0, g, Outgoing{Payload: []byte("x")}), 0)
		if c.nodes[0].m.Stats().Relisted != 1 {
			t.Errorf("%+v", c.nodes[0].m.Stats())
		}
		for _, node := range c.nodes[1:] {
			if node.ran["x"] != 1 {
				t.Errorf("node %d ran %d times", node.id, node.ran["x"])
			}
		}
	}
}

// TestRelistDuplicates: SC-A11: the network duplicates all messages, so a member that has lost the group says
// at least twice that it does not know the group. The parent sends the list after the first time, and then
// waits for the answer, also where the member has to fetch the list.
func TestRelistDuplicates(t *testing.T) {
	spec.Covers(t, "SC-A11")
	for seed := range uint64(20) {
		for _, n := range []int{8, 600}[:1+seed%10/9] { // with 600 members the list is too long for the message, and is fetched
			c := newCluster(t, n, func(_ *cluster, cfg *sim.Config[*packet]) {
				latency := link.Dist{Base: 500 * time.Microsecond, Spread: 400 * time.Microsecond, Shape: link.Uniform}
				cfg.Seed, cfg.Topology = seed, &sim.Flat{Link: link.Quality{Latency: latency, Duplicate: 1}}
			})
			c.run(0)
			g := c.create(0, wire.Tree{}, true)
			for _, lost := range []sim.NodeID{1, 4} {
				c.net.Kill(lost)
				c.net.Start(lost, false)
			}
			c.run(10 * time.Millisecond)
			c.want(c.broadcast(0, g, Outgoing{Payload: []byte("x")}), 0)
			for _, lost := range []int{1, 4} {
				if ran := c.nodes[lost].ran["x"]; ran != 1 {
					t.Errorf("of %d: node %d ran %d times", n, lost, ran)
				}
			}
		}
	}
}

// TestRelistEnded: SC-A11: if a group has ended at a member, that member refuses the request with the list as
// well, with ENOGROUP. It and the members below it are missing with that status.
func TestRelistEnded(t *testing.T) {
	spec.Covers(t, "SC-A11")
	for _, n := range []int{8, 600} {
		c := newCluster(t, n, nil)
		c.run(0)
		g := c.create(0, wire.Tree{}, true)
		key := keyOf(g, testService)
		c.nodes[6].m.table.tombstones.of[key] = &tombstone{key: key, at: time.Hour}
		r := c.broadcast(0, g, Outgoing{Payload: []byte("x")})
		c.want(r, 0, 6, 7)
		for _, e := range r.missing {
			if e.Status != wire.ENOGROUP {
				t.Errorf("of %d: rank %d: %v", n, e.Rank, e.Status)
			}
		}
	}
}

// relisted returns the machine of member 4 of n. Its child 6 has answered, one round trip after the request,
// that it does not know the group, and the machine has sent it the request again with the list of members. The events come before that answer.
func relisted(t *testing.T, n int, events ...func(*harness)) *harness {
	t.Helper()
	h := newHarness(t, n, 4, nil)
	h.another(1, func(r *wire.RequestHeader) {
		if n > 8 { // the list is too long for the message
			r.Flags, r.List = wire.FlagList, wire.RMA{Bits: 99, Length: uint64(h.members.Size())}
		}
	})
	if n > 8 {
		h.step(Input{Kind: InFetched, Data: h.members.AppendTo(nil)})
	}
	h.step(Input{Kind: InPreRequest, Status: wire.EPERM})
	r := h.header()
	r.Sequence, r.First, r.Hold = 2, 2, testHold
	h.deliver(h.parent(), r, false, "payload")
	h.step(Input{Kind: InPreRequest})
	h.step(Input{Kind: InIncoming})
	h.now += testRTT
	for _, event := range events {
		event(h)
	}
	h.unknown()
	h.find(DoSend)
	return h
}

// unknown delivers the answer of child 6 that it does not know the group. The buffer of that answer
// is posted again.
func (h *harness) unknown() {
	h.t.Helper()
	h.childReplies(6, func(r *wire.ReplyHeader, in *Input) {
		*r = wire.ReplyHeader{RootIncarnation: 7, Sequence: 2, Flags: wire.ReplyLast | wire.ReplyCollective, Status: wire.ENOGROUP}
		in.Length = wire.ReplyHeaderSize
	})
	h.find(DoRepost)
}

// TestRelistSilent: SC-A11: a child was sent the list, or has to fetch it, and does not answer. Its parent gives it up
// while the parent's own service still has time to answer. That is so also if this child or another one held the
// request before: holding gave the parent more time, but only until it ended.
func TestRelistSilent(t *testing.T) {
	spec.Covers(t, "SC-A11")
	for _, n := range []int{8, 600} {
		h := relisted(t, n)
		r := h.m.requests.get(h.id)
		if r.fitsList() != (n == 8) {
			t.Fatalf("of %d: the list is in the message: %v", n, r.fitsList())
		}
		if got, want := r.children[0].at, r.limit-testGuard; got != want {
			t.Errorf("of %d: given up %v before the module answers, want %v", n, r.limit-got, testGuard)
		}
		h = relisted(t, n, func(h *harness) { h.say(5, true) })
		h.say(5, false)
		if r = h.m.requests.get(h.id); r.children[0].at > r.limit-testGuard {
			t.Errorf("of %d: after another child held the request: given up %v before the module answers", n, r.limit-r.children[0].at)
		}
		h = relisted(t, n, func(h *harness) { h.say(6, true) })
		if r = h.m.requests.get(h.id); r.heldBelow || r.children[0].at > r.limit-testGuard {
			t.Errorf("of %d: after the child held the request: held %v, given up %v before the module answers", n, r.heldBelow, r.limit-r.children[0].at)
		}
	}
}

// TestRelistByRoot: SC-A11: the root, for which no parent waits, gives a child that has to fetch the list the
// time for that, and no such time to a child that gets the list in the message.
func TestRelistByRoot(t *testing.T) {
	spec.Covers(t, "SC-A11")
	for _, n := range []int{8, 600} {
		h := newHarness(t, n, 0, nil)
		h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: h.members}})
		h.group = h.find(Created).Group
		h.m.table.list[0].complete = true // as if an earlier broadcast had told all members the list
		h.begin(wire.OK, Outgoing{})
		r := h.m.requests.get(h.id)
		i := r.childOf(1)
		h.childReplies(1, func(r *wire.ReplyHeader, in *Input) {
			*r = wire.ReplyHeader{RootIncarnation: 5, Sequence: 1, Flags: wire.ReplyLast | wire.ReplyCollective, Status: wire.ENOGROUP}
			in.Length = wire.ReplyHeaderSize
		})
		header := r.header
		if n == 600 {
			header.BulkTime += h.m.cfg.bulkTime(uint64(h.members.Size()))
		}
		if got, want := r.children[i].at-h.now, childTimeout(&header, 1, 0); got != want {
			t.Errorf("of %d: given up after %v, want %v", n, got, want)
		}
	}
}

// TestRelistCounts: SC-A11: a child that held the request, then lost the group, and gets the list numbers its
// Hold messages from 1 on again. Its parent believes them.
func TestRelistCounts(t *testing.T) {
	spec.Covers(t, "SC-A11", "SC-161")
	h := relisted(t, 8, func(h *harness) { h.say(6, true); h.say(6, false) })
	h.words = 0
	h.say(6, true)
	if c := &h.m.requests.get(h.id).children[0]; !c.held || c.at != c.until {
		t.Errorf("held %v, given up after %v", c.held, c.at-h.now)
	}
}

// TestRelistUnsent: SC-A11: the request with the list cannot be sent, and a copy of a Hold comes that the child
// sent before it said that it does not know the group. The list is sent again all the same.
func TestRelistUnsent(t *testing.T) {
	spec.Covers(t, "SC-A11", "SC-161")
	h := relisted(t, 8)
	h.unsent()
	h.say(6, true)
	h.want("")
	if h.advance(); h.m.stats.Retries != 1 {
		t.Errorf("%+v", h.m.stats)
	}
	h.want("send0")
}

// TestRelistHeld: SC-A11: a child that holds the request, or has answered a part, has the list: if no more comes, it
// is missing with ETIMEDOUT. It may also answer a copy of the request without the list that it does not know the
// group. That answer does not change this reason, whether it comes before the Hold or the part, or after it.
func TestRelistHeld(t *testing.T) {
	spec.Covers(t, "SC-A11")
	tests := []struct {
		name  string
		alive func(*harness)
		want  wire.Status
	}{
		{"holds", func(h *harness) { h.say(6, true) }, wire.ETIMEDOUT},
		{"held", func(h *harness) { h.say(6, true); h.say(6, false) }, wire.ETIMEDOUT},
		{"answers", func(h *harness) {
			h.childReplies(6, func(r *wire.ReplyHeader, _ *Input) { r.Sequence, r.Flags = 2, 0 })
		}, wire.ETIMEDOUT},
		{"is silent", func(*harness) {}, wire.ENOGROUP},
	}
	for _, tt := range tests {
		for _, copies := range [][2]int{{1, 0}, {0, 1}, {2, 2}} {
			h := relisted(t, 8)
			for range copies[0] {
				h.unknown()
			}
			tt.alive(h)
			for range copies[1] {
				h.unknown()
			}
			for id := h.id; h.m.requests.get(id).children[0].state == waiting; {
				h.advance()
			}
			if got := h.find(CallReply).Status; got != tt.want {
				t.Errorf("%s after %v copies: %v, want %v", tt.name, copies, got, tt.want)
			}
		}
	}
}
