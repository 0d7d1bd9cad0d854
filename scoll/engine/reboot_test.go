package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/tree"
	"ulnet/scoll/wire"
)

// TestRebootEndsWait: SC-158: this node waits for the answer of a child. Then a request arrives
// for a group that a later incarnation of the child created, and the child confirms that
// incarnation. This ends the wait: the earlier incarnation cannot answer any more.
func TestRebootEndsWait(t *testing.T) {
	spec.Covers(t, "SC-158")
	h := newHarness(t, 8, 4, nil) // node 4 has the children 6 and 5
	all := h.group
	made := func(incarnation uint64) {
		h.group = wire.GroupID{Creator: h.members.NID(6), Incarnation: incarnation, Index: 1, Digest: h.members.Digest()}
		h.admitted(nil)
	}
	made(7)
	h.want("pre")
	h.group = all
	h.running(nil)
	made(8)
	h.want("tell0 pre")
	h.confirms(6, 8)
	h.want("unpost0 child0:" + wire.EREBOOT.String())
	h.one("died", h.m.Stats().Died)
}

// TestRebootBeforeWait: SC-158: this node learned of a child's restart before it sent the
// request, and the child confirmed the restart only later. The wait for the child goes on,
// because it was the later incarnation that received the request.
func TestRebootBeforeWait(t *testing.T) {
	spec.Covers(t, "SC-158")
	h := newHarness(t, 8, 4, nil) // node 4 has the children 6 and 5
	all := h.group
	made := func(incarnation uint64) {
		h.group = wire.GroupID{Creator: h.members.NID(6), Incarnation: incarnation, Index: 1, Digest: h.members.Digest()}
		h.admitted(nil)
	}
	made(7)
	h.want("pre")
	made(8) // no request waits for member 6, so the question to it is sent later
	h.want("pre")
	h.now = h.m.incarnations.asked[0].at - time.Millisecond
	h.step(Input{}) // the two requests above are overdue in this step
	h.group = all
	h.running(nil)
	h.asked(testRTT)
	h.confirms(6, 8)
	h.want("")
	if h.childrenReply(); h.m.Stats().Died != 0 {
		t.Error("a child that has answered is given up")
	}
}

// teller returns a function by which a member sends a request of its own, as the root of a flat tree, in an incarnation.
func (h *harness) teller(member int) func(incarnation uint64) {
	sequence := uint64(0)
	return func(incarnation uint64) {
		r := h.header()
		sequence++
		r.Sequence = sequence
		r.Root, r.RootIncarnation, r.Tree = uint32(member), incarnation, wire.Tree{Type: wire.KAry, K: tree.MaxK}
		id := h.id
		h.id = 0
		h.deliver(member, r, true, "")
		h.id = id
	}
}

// discovered gives the machine a report of discovery about a member.
func (h *harness) discovered(member int, alive bool, lifetime uint64) {
	h.step(Input{Kind: Health, From: h.members.NID(member), Alive: alive, Lifetime: lifetime})
}

// TestRebootAfterReturn: SC-158: discovery reports that a child has died and is back. This node sends the child a
// request, and then gets the first message of the child's new incarnation. The wait for the child goes on, because it
// was the new incarnation that received the request. The child confirms that incarnation when it is asked. After the next
// restart, which the child tells before discovery does, a wait ends.
func TestRebootAfterReturn(t *testing.T) {
	spec.Covers(t, "SC-158")
	h := newHarness(t, 8, 4, nil) // node 4 has the children 6 and 5
	tells := h.teller(6)
	h.discovered(6, true, 0)
	tells(7)
	h.discovered(6, false, 1)
	h.discovered(6, true, 1)
	h.running(nil)
	h.now += time.Millisecond
	tells(8)
	h.want("tell0 pre")
	h.confirms(6, 8)
	h.want("")
	tells(9)
	h.want("unpost0 child0:" + wire.EREBOOT.String() + " pre")
}

// TestRebootAfterFalseDeath: SC-158: discovery reports that a child has died and is back, but the child has not
// restarted. With the next request, this node asks the child for its incarnation, and learns that. When the child does
// restart later, and tells that before discovery does, a wait for it ends.
func TestRebootAfterFalseDeath(t *testing.T) {
	spec.Covers(t, "SC-158")
	h := newHarness(t, 8, 4, nil) // node 4 has the children 6 and 5
	tells := h.teller(6)
	h.discovered(6, true, 0)
	tells(7)
	h.discovered(6, false, 1)
	h.discovered(6, true, 1)
	h.admitted(nil)
	h.step(Input{Kind: InPreRequest})
	h.want("send0 tell0 send1 incoming")
	h.confirms(6, 7)
	h.step(Input{Kind: InIncoming})
	h.now += time.Millisecond
	tells(8)
	h.want("unpost0 child0:" + wire.EREBOOT.String() + " pre")
}

// TestRebootAfterLateRequest: SC-158: discovery reports that a child has died and is back, and only then this node reads
// a request that the child had sent before it restarted, be it the first one of that incarnation or not. This does not
// show that discovery was wrong: a wait that begins now goes on when the child tells its new incarnation.
func TestRebootAfterLateRequest(t *testing.T) {
	spec.Covers(t, "SC-158")
	for _, first := range []bool{false, true} {
		h := newHarness(t, 8, 4, nil) // node 4 has the children 6 and 5
		tells := h.teller(6)
		h.discovered(6, true, 0)
		if !first {
			tells(7)
		}
		h.discovered(6, false, 1)
		h.discovered(6, true, 1)
		if tells(7); first {
			h.want("tell0 pre")
		}
		h.running(nil)
		h.now += time.Millisecond
		tells(8)
		h.want("tell0 pre")
		h.confirms(6, 8)
		h.want("")
	}
}

// TestRebootAskedBeforeLateRequest: SC-158: the same if the late request comes while the child is asked for its
// incarnation: the answer ends no wait.
func TestRebootAskedBeforeLateRequest(t *testing.T) {
	spec.Covers(t, "SC-158")
	h := newHarness(t, 8, 4, nil) // node 4 has the children 6 and 5
	tells := h.teller(6)
	h.discovered(6, true, 0)
	h.discovered(6, false, 1)
	h.discovered(6, true, 1)
	h.admitted(nil)
	h.step(Input{Kind: InPreRequest})
	h.want("send0 tell0 send1 incoming")
	question := h.question(6)
	h.now += time.Millisecond
	tells(7)
	h.want("tell0 pre")
	again := h.question(6)
	h.answers(6, question, 8)
	h.want("")
	h.answers(6, again, 8)
	h.want("")
}

// TestRebootAfterLateAnswer: SC-158: discovery reports that a child has died and is back while this node waits for the
// child's answer to a question. That answer is from before the restart, and does not show that discovery was wrong: a
// wait that begins now goes on when the child tells its new incarnation.
func TestRebootAfterLateAnswer(t *testing.T) {
	spec.Covers(t, "SC-158")
	h := newHarness(t, 8, 4, nil) // node 4 has the children 6 and 5
	tells := h.teller(6)
	h.discovered(6, true, 0)
	tells(7)
	h.discovered(6, false, 1)
	h.discovered(6, true, 1)
	h.admitted(nil)
	h.step(Input{Kind: InPreRequest})
	h.want("send0 tell0 send1 incoming")
	question := h.question(6)
	h.step(Input{Kind: InIncoming})
	h.discovered(6, false, 2)
	h.want("unpost0 child0:" + wire.EHOSTDOWN.String())
	h.discovered(6, true, 2)
	h.want("tell0")
	h.running(func(r *wire.RequestHeader) { r.Sequence = 2 })
	h.answers(6, question, 7)
	h.now += time.Millisecond
	tells(8)
	h.want("tell0 pre")
	h.confirms(6, 8)
	h.want("")
}

// TestLateAnswer: SC-158: a node restarts, and the new incarnation sends a request, while this node waits for the answer
// to a question. The answer of the earlier incarnation comes after that request, and changes nothing: no wait for the
// new incarnation ends.
func TestLateAnswer(t *testing.T) {
	spec.Covers(t, "SC-158")
	h := newHarness(t, 8, 4, nil) // node 4 has the children 6 and 5
	tells := h.teller(6)
	tells(8)
	tells(7) // a late request, after which incarnation 8 is asked whether it is still the present one
	h.want("tell0 refuse")
	question := h.question(6)
	tells(9)
	h.want("tell0 pre")
	h.running(nil)
	h.answers(6, question, 8)
	h.want("")
	h.now += time.Millisecond
	tells(9)
	h.want("pre")
	h.one("stray", h.m.Stats().Stray)
}

// TestReturnedAsked: a node that forwards a request to a child asks it for its incarnation only if discovery has reported
// since that the child is back. If all children are back, few are asked at a time.
func TestReturnedAsked(t *testing.T) {
	const children = maxAsked
	for _, c := range []struct {
		reports []bool // what discovery reports of each child
		want    uint64
	}{{nil, 0}, {[]bool{true}, 0}, {[]bool{true, false, true}, maxAsked / 2}} {
		h := newHarness(t, children+1, 0, nil)
		for i := range children {
			for _, alive := range c.reports {
				h.discovered(1+i, alive, 1)
			}
		}
		h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: h.members, Tree: wire.Tree{Type: wire.KAry, K: children}}})
		h.group = h.find(Created).Group
		h.begin(wire.OK, Outgoing{})
		if len(h.m.requests.get(h.id).children) != children {
			t.Fatal("the broadcast did not begin")
		}
		if n := h.m.Stats().Asked; n != c.want {
			t.Errorf("%d children are asked after the reports %v, want %d", n, c.reports, c.want)
		}
	}
}

// TestReturnedTakeNoDials: members of this node's own group that are on no list are asked for their incarnation when
// discovery has reported them back. A stranger's request may still be sent to as many nodes as before.
func TestReturnedTakeNoDials(t *testing.T) {
	spec.Covers(t, "SC-162")
	h := listed(t, nil)
	targets := []wire.Target{h.members.Target(h.rank)}
	for i := range maxDialed {
		id := number(100_000 + i)
		targets = append(targets, wire.Target{NID: id, Entities: []wire.Entity{{1}}})
		for _, alive := range []bool{true, false, true} {
			h.step(Input{Kind: Health, From: id, Alive: alive, Lifetime: 1})
		}
	}
	members, err := wire.NewMembership(targets)
	if err != nil {
		t.Fatal(err)
	}
	h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: members, Tree: wire.Tree{Type: wire.KAry, K: maxDialed}}})
	h.group = h.find(Created).Group
	h.begin(wire.OK, Outgoing{})
	if n := h.m.Stats().Asked; n != maxDialed {
		t.Fatalf("%d members are asked", n)
	}
	h.stranger(1, 1, maxDialed, 1, nil)
	h.want("pre")
	h.step(Input{Kind: InPreRequest})
	if n := h.m.Stats().NotListed; n != 0 {
		t.Errorf("a stranger's request is not sent to %d of %d children", n, maxDialed)
	}
}
