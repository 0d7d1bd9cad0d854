package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/wire"
)

// TestRootItself: SC-57: a root waits for its own incoming-request for the timeout T of the whole
// tree, or until Abort. Then the root itself is missing in the result. Its buffers stay in use after
// post-reply, until incoming-request has returned and reply-out is called.
func TestRootItself(t *testing.T) {
	spec.Covers(t, "SC-57")
	for _, aborted := range []bool{false, true} {
		h := newHarness(t, 4, 0, nil) // a tree of three levels
		h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: h.members}})
		h.group = h.find(Created).Group
		begin := h.now
		h.step(Input{Kind: Broadcast, Broadcast: &Outgoing{Token: 2, Group: h.group, Service: testService, Processing: time.Second}})
		for i, rank := range []int{2, 1} {
			h.childReplies(rank, ours)
			h.step(Input{Kind: InReply, Child: i})
		}
		h.want("")
		want := wire.Missing{Rank: 0, Status: wire.ETIMEDOUT, Scope: wire.Node}
		if aborted {
			want.Status = wire.ECANCELED
			h.step(Input{Kind: Abort})
		} else {
			for len(h.effects) == 0 {
				h.advance()
			}
			if took := h.now - begin; took != 5*(testRTT+testGuard)+time.Second {
				t.Errorf("waited for %v", took)
			}
		}
		h.want("post")
		if missing := h.out.Missing; len(missing) != 1 || missing[0] != want || !h.find(CallPostReply).Busy {
			t.Errorf("missing %v, %+v", missing, h.find(CallPostReply))
		}
		h.step(Input{Kind: InPostReply})
		h.want("")
		h.step(Input{Kind: InIncoming, Status: wire.EIO})
		h.want("out:failed")
		h.step(Input{Kind: InReplyOut})
		h.want("free")
	}
}

// TestRootItselfInTime: SC-57: a root is not missing if its incoming-request returns after
// Abort but before post-reply.
func TestRootItselfInTime(t *testing.T) {
	spec.Covers(t, "SC-57")
	h := newHarness(t, 2, 0, nil)
	h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: h.members}})
	h.group = h.find(Created).Group
	h.step(Input{Kind: Broadcast, Broadcast: &Outgoing{Token: 2, Group: h.group, Service: testService}})
	h.step(Input{Kind: Abort})
	h.want("unpost0 child0:canceled")
	h.step(Input{Kind: InIncoming})
	h.step(Input{Kind: InReply})
	h.step(Input{Kind: InWithdrawn})
	h.want("post")
	if missing := h.out.Missing; len(missing) != 1 || missing[0].Rank != 1 || h.find(CallPostReply).Busy {
		t.Errorf("missing %v, %+v", missing, h.find(CallPostReply))
	}
	h.step(Input{Kind: InPostReply})
	h.want("free")
}

// TestBusyRoot: SC-A16: if buffers of a root are in use during post-reply, the machine calls
// reply-out as soon as they are free, even if post-reply has not returned yet.
func TestBusyRoot(t *testing.T) {
	spec.Covers(t, "SC-A16")
	h := newHarness(t, 2, 0, nil)
	h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: h.members}})
	h.group = h.find(Created).Group
	h.begin(wire.OK, Outgoing{Bulk: 1000})
	h.childReplies(1, ours)
	h.step(Input{Kind: InReply})
	h.want("withdraw")
	h.advance()
	h.want("post")
	if !h.find(CallPostReply).Busy {
		t.Error("buffers are in use")
	}
	h.step(Input{Kind: InWithdrawn})
	h.want("")
	h.step(Input{Kind: InPostReply})
	h.want("out")
	h.step(Input{Kind: InReplyOut})
	h.want("free")
}
