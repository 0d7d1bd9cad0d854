package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/wire"
)

const testHold = 250 * time.Millisecond

// crowded returns the machine of member 4 of 8, which has the given number of slots.
func crowded(t *testing.T, slots int) *harness {
	t.Helper()
	return newHarness(t, 8, 4, func(c *Config) { c.MaxActive = slots })
}

// another delivers a further request, with the given sequence number. Its header allows the machine to hold
// it.
func (h *harness) another(sequence uint64, change func(*wire.RequestHeader)) {
	h.t.Helper()
	h.id = 0
	h.admitted(func(r *wire.RequestHeader) {
		r.Sequence, r.First, r.ReplyBits, r.Hold = sequence, sequence, 100+sequence, testHold
		if change != nil {
			change(r)
		}
	})
}

// ofRoot delivers a request of another root, which is also this node's parent. In the tree of
// root 3 this node is a leaf.
func (h *harness) ofRoot(root int, sequence uint64) {
	h.t.Helper()
	r := h.header()
	r.Root, r.RootIncarnation, r.Sequence, r.First, r.Hold = uint32(root), 70+uint64(root), sequence, sequence, testHold
	h.id = 0
	h.deliver(root, r, true, "payload")
}

// word returns the Hold message that the latest step sends.
func (h *harness) word() wire.Hold {
	h.t.Helper()
	e := h.find(DoTell)
	w, err := wire.ParseHold(h.out.Buf[e.Data.Begin:e.Data.End])
	if err != nil || e.Child != Upward {
		h.t.Fatal(err, e.Child)
	}
	return w
}

// say delivers a Hold message of a child about the latest request.
func (h *harness) say(rank int, held bool) {
	h.t.Helper()
	h.words++
	h.step(Input{Kind: Arrival, From: h.members.NID(rank), Data: (&wire.Hold{ReplyBits: h.bits, Number: h.words, Held: held}).AppendTo(nil)})
}

// refusedAs fails the test unless the latest step refuses a request for the whole subtree, and does nothing
// else.
func (h *harness) refusedAs(want wire.Status) {
	h.t.Helper()
	if h.want("refuse free"); h.refusal().Status != want || h.refusal().Flags&wire.ReplyCollective == 0 {
		h.t.Errorf("%+v, want %v", h.refusal(), want)
	}
}

// TestHeld: SC-A30: requests beyond MaxActive are held, and the parent gets a Hold. The time of the
// service begins when the request gets a slot.
func TestHeld(t *testing.T) {
	spec.Covers(t, "SC-161", "SC-A30")
	h := crowded(t, 1)
	h.another(1, nil)
	h.want("pre")
	first := h.id
	h.another(2, nil)
	if h.want("tell-1"); h.word() != (wire.Hold{ReplyBits: 102, Number: 1, Held: true}) {
		t.Errorf("%+v", h.word())
	}
	h.now += testHold / 2
	h.step(Input{Kind: InPreRequest, ID: first, Status: wire.EPERM})
	if h.want("refuse free tell-1 pre"); h.word() != (wire.Hold{ReplyBits: 102, Number: 2, Held: false}) {
		t.Errorf("%+v", h.word())
	}
	h.one("held", h.m.stats.Held)
	r := h.header()
	if want := h.now + answerTimeout(&r, 3); h.wake != want {
		t.Errorf("the module answers at %v, want %v", h.wake, want)
	}
	h.step(Input{Kind: InPreRequest})
	h.want("send0 send1 incoming")
}

// TestHeldTooLong: a held request gets no slot within the time for which a member may hold it. It is
// refused for the whole subtree before the parent gives up, and does not run later.
func TestHeldTooLong(t *testing.T) {
	spec.Covers(t, "SC-161")
	h := crowded(t, 1)
	h.another(1, func(r *wire.RequestHeader) { r.Processing = time.Second })
	first, came := h.id, h.now
	h.another(2, nil)
	if h.advance(); h.now != came+testHold {
		t.Errorf("after %v, want %v", h.now-came, testHold)
	}
	if h.refusedAs(wire.EMAXACTIVE); h.refusal().Nodes != 4 {
		t.Errorf("for %d nodes", h.refusal().Nodes)
	}
	h.one("held too long", h.m.stats.HeldTooLong)
	h.step(Input{Kind: InPreRequest, ID: first, Status: wire.EPERM})
	h.want("refuse free")
}

// TestHeldByOld: a parent of an earlier version does not understand Hold, and gets no Hold
// message. It gets its answer within its timeout T. If no slot becomes free within T, the answer is a
// refusal. If a slot becomes free, the service has the rest of T.
func TestHeldByOld(t *testing.T) {
	spec.Covers(t, "SC-161")
	old := func(r *wire.RequestHeader) { r.Hold = 0 }
	h := crowded(t, 1)
	h.another(1, func(r *wire.RequestHeader) { r.Processing = time.Second })
	first, came := h.id, h.now
	h.another(2, old)
	h.want("")
	r := h.header()
	if h.advance(); h.now != came+answerTimeout(&r, 3) {
		t.Errorf("after %v", h.now-came)
	}
	h.refusedAs(wire.EMAXACTIVE)
	came = h.now
	h.another(3, old)
	h.now += 7 * time.Millisecond
	h.step(Input{Kind: InPreRequest, ID: first, Status: wire.EPERM})
	if h.want("refuse free pre"); h.wake != came+answerTimeout(&r, 3) {
		t.Errorf("the module answers after %v", h.wake-came)
	}
}

// TestHeldOrder: requests of one root get slots in the order in which they came, and do not
// block those of other roots.
func TestHeldOrder(t *testing.T) {
	spec.Covers(t, "SC-161")
	h := crowded(t, 1)
	h.another(1, nil)
	last := h.id
	for sequence := uint64(2); sequence < 6; sequence++ {
		h.another(sequence, nil)
	}
	header := h.header()
	header.Root, header.RootIncarnation, header.Hold = 2, 72, testHold // in the tree of root 2 this node has two levels below
	h.deliver(2, header, true, "payload")
	h.want("pre") // the request has fewer levels below than the one that has the slot
	other := h.id
	var order []uint64
	for range 4 {
		h.step(Input{Kind: InPreRequest, ID: last, Status: wire.EPERM})
		if other != 0 {
			h.step(Input{Kind: InPreRequest, ID: other, Status: wire.EPERM})
			other = 0
		}
		last = h.find(CallPreRequest).ID
		order = append(order, h.m.requests.get(last).header.Sequence)
	}
	if !slices.Equal(order, []uint64{2, 3, 4, 5}) {
		t.Errorf("slots were given to %v", order)
	}
}

// TestLeavesGoOn: two members that are each other's child, in the trees of two roots, do not
// deadlock. A request with fewer levels below this node than all requests with slots gets a
// slot beyond MaxActive.
func TestLeavesGoOn(t *testing.T) {
	spec.Covers(t, "SC-161")
	h := crowded(t, 1)
	h.another(1, nil)
	h.ofRoot(3, 1)
	h.want("pre")
	h.ofRoot(3, 2)
	h.want("tell-1")
	h.another(2, nil)
	h.want("tell-1")
	if h.m.admission.taken != 2 {
		t.Errorf("%d have a slot", h.m.admission.taken)
	}
}

// TestHeldBelow: if a child, or a node below it, holds the request, this node and its parent
// suspend their timeouts. The timeouts begin when the request gets its slot.
func TestHeldBelow(t *testing.T) {
	spec.Covers(t, "SC-161")
	h := crowded(t, 9)
	h.another(1, nil)
	h.step(Input{Kind: InPreRequest})
	h.want("send0 send1 incoming")
	sent, r := h.now, h.header()
	r.Hold = testHold
	h.childReplies(5, nil) // node 5 is a leaf
	h.now += childTimeout(&r, 2, 0) - 1
	h.say(6, true)
	if h.want("tell-1"); !h.word().Held {
		t.Error("no more")
	}
	if want := sent + childTimeout(&r, 2, 0) + h.m.holdTime(&r, 2); h.wake != want {
		t.Errorf("wakes after %v, want %v", h.wake-sent, want-sent)
	}
	h.now += testHold
	h.say(6, false)
	if h.want("tell-1"); h.word().Held {
		t.Error("still")
	}
	if want := h.now + childTimeout(&r, 2, 0); h.wake != want {
		t.Errorf("wakes %v later, want %v", h.wake-h.now, want-h.now)
	}
	if q := h.m.requests.get(h.id); q.limit != h.now+answerTimeout(&r, 3) {
		t.Errorf("the module answers %v later", q.limit-h.now)
	}
}

// TestHeldChildAnswers: a child that answers, or refuses, does not count as holding the request
// any more.
func TestHeldChildAnswers(t *testing.T) {
	spec.Covers(t, "SC-161")
	for _, refuses := range []bool{false, true} {
		h := crowded(t, 9)
		h.another(1, nil)
		h.step(Input{Kind: InPreRequest})
		h.say(6, true)
		h.childReplies(6, func(r *wire.ReplyHeader, in *Input) {
			if refuses {
				*r = wire.ReplyHeader{RootIncarnation: 7, Sequence: 1, Flags: wire.ReplyLast | wire.ReplyCollective, Status: wire.EMAXACTIVE}
				in.Length = wire.ReplyHeaderSize
			}
		})
		if h.word().Held {
			t.Error("still")
		}
	}
}

// TestHeldForEver: a child says again and again that it holds the request. Its parent gives it up
// after T plus the longest time for which members may hold a request. At most one of the
// child's Hold messages is relayed for each node below it.
func TestHeldForEver(t *testing.T) {
	spec.Covers(t, "SC-161")
	h := crowded(t, 9)
	h.another(1, nil)
	h.step(Input{Kind: InPreRequest})
	h.step(Input{Kind: InIncoming})
	h.childReplies(5, nil)
	h.step(Input{Kind: InReply, Child: 1})
	sent, r, told := h.now, h.header(), 0
	r.Hold = testHold
	id, last := h.id, sent+childTimeout(&r, 2, 0)+h.m.holdTime(&r, 2)
	for held := true; h.m.requests.get(id).children[0].state == waiting; held = !held {
		if h.now > last {
			t.Fatalf("waited for after %v", h.now-sent)
		}
		h.say(6, held)
		for _, e := range h.effects {
			if e.Kind == DoTell {
				told++
			}
		}
		h.now += 10 * time.Millisecond
		h.step(Input{})
	}
	if told > 4 || told == 0 {
		t.Errorf("the parent was told %d times", told)
	}
	h = crowded(t, 9)
	h.another(1, nil)
	h.step(Input{Kind: InPreRequest})
	h.say(6, true)
	for h.m.requests.get(h.id).children[0].state == waiting {
		h.advance()
	}
	if h.now != last {
		t.Errorf("given up after %v, want %v", h.now-sent, last-sent)
	}
}

// TestHoldOvertaken: Hold messages may overtake each other: an older one changes nothing. If the end
// of holding comes first, the node waits longer for the child all the same, and so do its own module
// and its parent.
func TestHoldOvertaken(t *testing.T) {
	spec.Covers(t, "SC-161")
	h := crowded(t, 9)
	h.another(1, nil)
	h.step(Input{Kind: InPreRequest})
	h.now += testRTT
	h.words = 1
	h.say(6, false) // the second message arrives first
	h.want("tell-1 tell-1")
	var told []wire.Hold
	for _, e := range h.effects {
		w, err := wire.ParseHold(h.out.Buf[e.Data.Begin:e.Data.End])
		if told = append(told, w); err != nil {
			t.Fatal(err)
		}
	}
	if want := []wire.Hold{{ReplyBits: 101, Number: 1, Held: true}, {ReplyBits: 101, Number: 2}}; !slices.Equal(told, want) {
		t.Errorf("the parent is told %+v", told)
	}
	r := h.m.requests.get(h.id)
	if at := r.children[0].at; at >= r.limit {
		t.Errorf("the module answers %v before the child is given up", at-r.limit)
	}
	h.words = 0
	h.say(6, true) // then the first message arrives
	if h.want(""); r.heldBelow {
		t.Error("held for ever")
	}
	h.words = 2
	h.say(6, false) // number 3 says that the request is not held, and so did number 2: a forged message
	h.want("")
	h.one("late", h.m.stats.Late-1)
}

// TestHoldDuplicates: the network delivers each Hold message of a child twice. The copies do
// not use up the number of Hold messages that the parent accepts, so it learns that members below the
// child hold the request after the child itself.
func TestHoldDuplicates(t *testing.T) {
	spec.Covers(t, "SC-161")
	h := crowded(t, 9)
	h.another(1, nil)
	h.step(Input{Kind: InPreRequest})
	for number := range uint64(3) {
		for range 2 {
			h.words = number
			h.say(6, number%2 == 0)
		}
	}
	c, r := &h.m.requests.get(h.id).children[0], h.header()
	r.Hold = testHold
	if last := h.now + childTimeout(&r, 2, 0) + h.m.holdTime(&r, 2); !c.held || c.at != last {
		t.Errorf("held %v: given up after %v, want %v", c.held, c.at-h.now, last-h.now)
	}
}

// TestForgedHold: a Hold message changes nothing if it is not from a child, is about a request
// that is not waiting, is unsigned, or is malformed.
func TestForgedHold(t *testing.T) {
	spec.Covers(t, "SC-161")
	h := crowded(t, 9)
	h.another(1, nil)
	h.step(Input{Kind: InPreRequest})
	wake := h.wake
	say := func(rank int, w wire.Hold, signed bool) {
		t.Helper()
		h.step(Input{Kind: Arrival, From: h.members.NID(rank), Data: w.AppendTo(nil), Signed: signed})
		h.want("")
		if h.wake != wake {
			t.Errorf("%+v of %d changes the wake", w, rank)
		}
	}
	say(3, wire.Hold{ReplyBits: h.bits, Number: 1, Held: true}, false)
	say(7, wire.Hold{ReplyBits: h.bits, Number: 1, Held: true}, false)
	say(6, wire.Hold{ReplyBits: h.bits + 2, Number: 1, Held: true}, false)
	say(6, wire.Hold{ReplyBits: h.bits, Number: 1, Held: true, Signed: true}, true) // its flags say that it is signed, but it has no signature
	say(6, wire.Hold{ReplyBits: h.bits, Number: 1, Held: true}, true)
	b := (&wire.Hold{ReplyBits: h.bits, Number: 1, Held: true}).AppendTo(nil)
	h.step(Input{Kind: Arrival, From: h.members.NID(6), Data: append(b, 0)})
	h.want("")
	if s := h.m.stats; s.Stray != 2 || s.Late != 1 || s.Unsigned != 1 || s.Malformed != 2 {
		t.Errorf("%+v", s)
	}
	h.childReplies(6, nil)
	h.say(6, true)
	h.want("")
	h = crowded(t, 9)
	h.another(1, func(r *wire.RequestHeader) { r.Hold = 0 })
	h.step(Input{Kind: InPreRequest})
	h.say(6, true)
	h.want("") // ignored: the request does not ask for Hold messages
}

// TestHoldingUntold: a Hold message that cannot be sent is sent again, until the request has
// ended. Each time it has the state of the request at that time.
func TestHoldingUntold(t *testing.T) {
	spec.Covers(t, "SC-161")
	h := crowded(t, 1)
	h.another(1, nil)
	first := h.id
	h.another(2, nil)
	second := h.find(DoTell).ID
	h.step(Input{Kind: InUntold, ID: second, Child: Upward})
	h.want("")
	h.advance()
	if h.want("tell-1"); !h.word().Held {
		t.Error("no more")
	}
	h.step(Input{Kind: InUntold, ID: second, Child: Upward})
	h.step(Input{Kind: InPreRequest, ID: first, Status: wire.EPERM})
	h.want("refuse free tell-1 pre")
	h.id = second
	h.step(Input{Kind: InPreRequest, Status: wire.EPERM})
	h.step(Input{Kind: InUntold, ID: second, Child: Upward})
	h.want("")
	if h.m.stats.Retries != 1 || len(h.m.requests.heap) != 0 {
		t.Errorf("%+v, %d in the heap", h.m.stats, len(h.m.requests.heap))
	}
}

// TestHeldShares: SC-156: one node can use three quarters of what may be held, in requests and
// in bytes, and strangers together a quarter. Other nodes still have room.
func TestHeldShares(t *testing.T) {
	spec.Covers(t, "SC-156", "SC-161")
	for name, c := range map[string]struct{ slots, payload int }{"requests": {4, 0}, "bytes": {1024, 3000}} {
		h := listed(t, func(cfg *Config) { cfg.MaxActive = c.slots })
		most := h.m.cfg.mostHeld()
		h.many = true
		within := func(whose string, s share, quarters int) {
			t.Helper()
			requests, bytes := most*quarters/4, uint64(maxHeldBytes*quarters/4)
			if s.waiting > requests || s.body > bytes || s.waiting < requests-1 && s.body < bytes-wire.MaxMessage {
				t.Errorf("%s: %s hold %+v, want up to %d requests, %d bytes", name, whose, s, requests, bytes)
			}
		}
		for sequence := range uint64(2 * most) {
			r := h.header()
			r.Sequence, r.First = sequence+1, sequence+1
			h.id = 0
			h.deliver(0, r, true, strings.Repeat("x", c.payload))
		}
		within("one node", h.m.shares.of[h.members.NID(0)], 3)
		if h.ofRoot(3, 1); h.effects[0].Kind == DoRefuse {
			t.Errorf("%s: one node leaves no room", name)
		}
		for i := range 2 * most {
			h.stranger(i%3, i/200, 0, c.payload/16, func(r *wire.RequestHeader) { r.Sequence, r.First = uint64(i+1), uint64(i+1) })
			h.step(Input{Kind: InFetched, Status: wire.EIO})
		}
		within("strangers", h.m.shares.strangers, 1)
		h.many = false
		busy := h.m.stats.Busy
		for sequence := uint64(1); h.m.stats.Busy == busy; sequence++ {
			if h.ofRoot(2, sequence); sequence > 40 {
				t.Fatalf("%s: there is room for ever", name)
			}
		}
		if h.refusal().Status != wire.EMAXACTIVE {
			t.Errorf("%s: %+v", name, h.refusal())
		}
	}
}

// TestWaiting: broadcasts of this node beyond the congestion window wait, in order. They can be
// aborted before they are sent, and are sent when earlier broadcasts have ended.
func TestWaiting(t *testing.T) {
	spec.Covers(t, "SC-161")
	h := newHarness(t, 2, 0, nil)
	h.root(wire.OK)
	g := h.m.table.list[0]
	g.pace = pace{size: 1, credit: -10, until: 1} // a window of one broadcast that does not grow during the test
	first := h.id
	var waiting []RequestID
	for range 3 {
		h.id = 0
		h.step(Input{Kind: Broadcast, Broadcast: &Outgoing{Token: 2, Group: h.group, Service: testService}})
		h.want("began")
		waiting = append(waiting, h.id)
	}
	h.step(Input{Kind: Abort, ID: waiting[1]})
	h.want("child0:canceled")
	h.step(Input{Kind: InReply, ID: waiting[1]})
	if h.want("post:canceled"); len(h.out.Missing) != 1 {
		t.Errorf("missing are %v", h.out.Missing)
	}
	h.step(Input{Kind: InPostReply, ID: waiting[1]})
	h.want("free")
	for i, id := range []RequestID{first, waiting[0]} {
		h.id, h.bits = id, h.m.requests.get(id).bits
		h.step(Input{Kind: InIncoming})
		h.childReplies(1, func(r *wire.ReplyHeader, _ *Input) { r.RootIncarnation, r.Sequence = 5, uint64(i+1) })
		h.step(Input{Kind: InReply})
		if h.step(Input{Kind: InPostReply}); i == 0 {
			h.want("free send0 incoming")
		}
	}
	if h.want("free send0 incoming"); h.id != waiting[2] || h.m.requests.get(h.id).header.Sequence != 3 {
		t.Error("out of order")
	}
	h.many = true
	for range maxWaiting {
		h.id = 0
		h.begin(wire.OK, Outgoing{})
	}
	h.begin(wire.EBUSY, Outgoing{})
}

// TestWaitingGroupGone: SC-101: a group ends because its creator died, while a broadcast waits.
// The broadcast is not sent: if the group has come back meanwhile, members would take the broadcast for
// one over the new group.
func TestWaitingGroupGone(t *testing.T) {
	spec.Covers(t, "SC-101")
	h := newHarness(t, 2, 1, nil)
	h.admitted(func(r *wire.RequestHeader) { r.Hold = testHold })
	h.step(Input{Kind: InPreRequest})
	h.step(Input{Kind: InIncoming})
	h.leave()
	h.id = 0
	h.m.table.list[0].pace = pace{size: 1, until: 1}
	h.begin(wire.OK, Outgoing{})
	first := h.id
	h.step(Input{Kind: Broadcast, Broadcast: &Outgoing{Token: 2, Group: h.group, Service: testService}})
	h.want("began")
	second := h.id
	h.step(Input{Kind: Health, From: h.members.NID(0), Lifetime: 1})
	h.want("unpost0 child0:node is down")
	h.step(Input{Kind: InReply, ID: first})
	h.step(Input{Kind: InWithdrawn, ID: first})
	h.step(Input{Kind: InPostReply, ID: first})
	h.want("free child0:no such group")
	h.step(Input{Kind: InReply, ID: second})
	h.want("post:no such group")
}

// TestPace: the congestion window is halved once for all broadcasts that are under way, and grows again.
func TestPace(t *testing.T) {
	spec.Covers(t, "SC-161")
	var p pace
	for range 3 {
		p.grow()
	}
	if p.most() != firstPace+3 {
		t.Errorf("%d at first", p.most())
	}
	if !p.shrink(7, 60) || p.shrink(60, 90) || p.most() != (firstPace+3)/2 {
		t.Errorf("%d after a member was busy", p.most())
	}
	for range p.most() {
		p.grow()
	}
	if p.most() != (firstPace+3)/2+1 {
		t.Errorf("%d after as many as are under way", p.most())
	}
	for n := uint64(61); n < 1000; n += 100 {
		p.shrink(n, n)
	}
	if p.most() != 1 {
		t.Errorf("%d at least", p.most())
	}
	for range windowSize * windowSize {
		p.grow()
	}
	if p.most() != windowSize {
		t.Errorf("%d at most", p.most())
	}
}

// TestSlowed: a root halves its window in two cases: a child reports that a member holds a
// broadcast, or a member is missing because it was busy.
func TestSlowed(t *testing.T) {
	spec.Covers(t, "SC-161")
	h := newHarness(t, 2, 0, nil)
	h.root(wire.OK)
	g := h.m.table.list[0]
	h.say(1, true)
	if h.want(""); g.pace.most() != firstPace/2 {
		t.Errorf("%d", g.pace.most())
	}
	h.one("slowed", h.m.stats.Slowed)
	h.id = 0
	h.begin(wire.OK, Outgoing{})
	h.childReplies(1, func(r *wire.ReplyHeader, in *Input) {
		*r = wire.ReplyHeader{RootIncarnation: 5, Sequence: 2, Flags: wire.ReplyLast | wire.ReplyCollective, Status: wire.EMAXACTIVE}
		in.Length = wire.ReplyHeaderSize
	})
	h.step(Input{Kind: InReply})
	h.step(Input{Kind: InWithdrawn})
	h.step(Input{Kind: InPostReply})
	if g.pace.most() != firstPace/4 {
		t.Errorf("%d after a member was busy", g.pace.most())
	}
}
