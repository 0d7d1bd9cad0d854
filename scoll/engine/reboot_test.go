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
// was the new incarnation that received the request. After the next restart, which the child tells before discovery
// does, a wait ends.
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
	h.want("pre")
	if h.m.Stats().Died != 0 {
		t.Error("a child that got the request in its present incarnation is given up")
	}
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
// a request that the child had sent before it restarted. This does not show that discovery was wrong: a wait that
// begins now goes on when the child tells its new incarnation.
func TestRebootAfterLateRequest(t *testing.T) {
	spec.Covers(t, "SC-158")
	h := newHarness(t, 8, 4, nil) // node 4 has the children 6 and 5
	tells := h.teller(6)
	h.discovered(6, true, 0)
	tells(7)
	h.discovered(6, false, 1)
	h.discovered(6, true, 1)
	tells(7)
	h.running(nil)
	h.now += time.Millisecond
	tells(8)
	h.want("pre")
	if h.m.Stats().Died != 0 {
		t.Error("a child that got the request in its present incarnation is given up")
	}
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
