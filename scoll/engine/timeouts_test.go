package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/wire"
)

// TestServiceFails: SC-133: the module answers for a service whose
// incoming-request returned an error, before or after post-reply.
func TestServiceFails(t *testing.T) {
	spec.Covers(t, "SC-133")
	for _, late := range []bool{false, true} {
		h := newHarness(t, 8, 7, nil) // node 7 is a leaf
		h.admitted(nil)
		h.step(Input{Kind: InPreRequest})
		h.want("incoming post")
		if !late {
			h.step(Input{Kind: InIncoming, Status: wire.EIO})
			h.want("")
			h.step(Input{Kind: InPostReply})
		} else {
			h.step(Input{Kind: InPostReply})
			h.want("")
			h.step(Input{Kind: InIncoming, Status: wire.EIO})
		}
		h.want("reply")
		if got := h.trailer(); len(got) != 1 || got[0] != (wire.Missing{Rank: 7, Status: wire.EIO, Scope: wire.Node}) {
			t.Errorf("late %v: %v", late, got)
		}
		h.step(Input{Kind: Answer, Final: true})
		h.want("")
		h.step(Input{Kind: InSent, Child: Upward})
		h.want("out:failed")
	}
}

// TestBulkFails: SC-70, SC-A18: if bulk data cannot be fetched the parent gets an error for the
// subtree, and the children get no request. The service gets all errors, but must not reply.
func TestBulkFails(t *testing.T) {
	spec.Covers(t, "SC-36", "SC-70", "SC-A18")
	h := newHarness(t, 8, 4, nil)
	h.admitted(func(r *wire.RequestHeader) { r.Bulk = wire.RMA{Bits: 99, Length: 1000} })
	h.want("pre")
	h.step(Input{Kind: InPreRequest})
	h.want("fetch")
	if e := h.find(DoFetch); e.To != h.members.NID(0) || e.Bits != 99 || e.Length != 1000 {
		t.Errorf("SC-36: fetches %+v", e)
	}
	h.step(Input{Kind: InFetched, Status: wire.EIO})
	h.want("refuse child0:failed child1:failed incoming:failed")
	if r := h.refusal(); r.Status != wire.EIO || r.Nodes != 4 || r.Entities != 8 {
		t.Errorf("%+v", r)
	}
	h.step(Input{Kind: InReply, Child: 0})
	h.step(Input{Kind: InReply, Child: 1})
	h.want("")
	h.step(Input{Kind: InIncoming})
	h.want("post")
	h.step(Input{Kind: Answer, Final: true})
	h.want("")
	h.step(Input{Kind: InPostReply})
	h.want("out")
	h.step(Input{Kind: InReplyOut})
	h.want("free")
}

// TestBulkForwards: SC-A17, SC-157 and SC-A16: a request is forwarded only when its bulk data
// has arrived, and with this node's match bits. The buffers are withdrawn before post-reply.
func TestBulkForwards(t *testing.T) {
	spec.Covers(t, "SC-157", "SC-A16", "SC-A17")
	for _, slow := range []bool{false, true} {
		h := newHarness(t, 4, 2, nil)
		h.admitted(func(r *wire.RequestHeader) { r.Bulk = wire.RMA{Bits: 99, Length: 1000} })
		h.step(Input{Kind: InPreRequest})
		h.want("fetch")
		h.step(Input{Kind: InFetched})
		h.want("expose send0 incoming")
		e := h.find(DoSend)
		sent, _, err := wire.ParseRequestHeader(h.out.Buf[e.Data.Begin:e.Data.End])
		if err != nil || sent.Bulk.Length != 1000 || sent.Bulk.Bits == 99 || sent.Bulk.Bits != h.find(DoExpose).Bits || sent.ReplyBits != e.Bits {
			t.Errorf("forwarded %+v, %v", sent, err)
		}
		h.step(Input{Kind: InIncoming})
		h.childReplies(3, nil)
		h.step(Input{Kind: InReply})
		h.want("withdraw")
		if slow {
			h.advance()
		} else {
			h.step(Input{Kind: InWithdrawn})
		}
		h.want("post")
		if h.find(CallPostReply).Busy != slow {
			t.Errorf("slow %v: busy", slow)
		}
		h.step(Input{Kind: Answer, Final: true})
		h.step(Input{Kind: InPostReply})
		h.step(Input{Kind: InSent, Child: Upward})
		if slow {
			h.want("")
			h.step(Input{Kind: InWithdrawn})
		}
		h.want("out")
	}
}

// TestSendFails: SC-A22, SC-136, SC-68 and SC-137: a message that cannot be sent is tried three
// times, and then the child is given up.
func TestSendFails(t *testing.T) {
	spec.Covers(t, "SC-68", "SC-136", "SC-137", "SC-138", "SC-A22")
	h := newHarness(t, 8, 4, nil)
	h.running(nil)
	for range maxTries - 1 {
		h.step(Input{Kind: InSent, Child: 1, Status: wire.EIO})
		h.want("")
		h.advance()
		h.want("send1")
	}
	h.step(Input{Kind: InSent, Child: 1, Status: wire.EIO})
	h.want("unpost1 child1:failed")
	h.step(Input{Kind: InReply, Child: 1})
	h.childReplies(6, nil)
	h.step(Input{Kind: InReply, Child: 0})
	h.step(Input{Kind: InWithdrawn})
	h.want("post")
	h.step(Input{Kind: InPostReply})
	for try := range maxTries {
		if try == 0 {
			h.step(Input{Kind: Answer, Final: true})
			if got := h.trailer(); len(got) != 1 || got[0] != (wire.Missing{Rank: 5, Status: wire.EIO, Scope: wire.Subtree}) {
				t.Errorf("%v", got)
			}
		} else {
			h.advance()
		}
		h.want("reply")
		h.step(Input{Kind: InSent, Child: Upward, Status: wire.EIO})
	}
	h.want("out") // ReplyOut follows without a further message: the parent learns of the loss by its own timeout (SC-138)
	if s := h.m.Stats(); s.Unsent != 2 || s.Retries != 4 {
		t.Errorf("%+v", s)
	}
}

// TestAbort: SC-72, SC-73 and SC-A21: Abort at the root ends the wait for the children. At a member it makes
// the module reply for the service, and before pre-request has returned it makes the module refuse the
// request.
func TestAbort(t *testing.T) {
	spec.Covers(t, "SC-72", "SC-73", "SC-A21")
	h := newHarness(t, 4, 0, nil)
	h.root(wire.OK)
	h.step(Input{Kind: Abort})
	h.want("unpost0 child0:canceled unpost1 child1:canceled")
	h.step(Input{Kind: InReply, Child: 0})
	h.want("")
	h.step(Input{Kind: InReply, Child: 1})
	h.want("withdraw")
	h.step(Input{Kind: InWithdrawn})
	h.want("post")
	if missing := h.out.Missing; len(missing) != 3 || missing[0] != (wire.Missing{Rank: 2, Status: wire.ECANCELED, Scope: wire.Node}) {
		t.Errorf("%v", missing)
	}
	h.step(Input{Kind: InPostReply})
	h.want("free")

	h = newHarness(t, 4, 3, nil) // node 3 is a member whose service has not replied
	h.running(nil)
	h.step(Input{Kind: InPostReply})
	h.step(Input{Kind: Abort})
	h.want("reply")
	if got := h.trailer(); len(got) != 1 || got[0] != (wire.Missing{Rank: 3, Status: wire.ECANCELED, Scope: wire.Node}) {
		t.Errorf("%v", got)
	}

	h = newHarness(t, 4, 2, nil) // node 2 is a root that has not sent anything yet
	h.admitted(nil)
	h.step(Input{Kind: Abort})
	h.step(Input{Kind: InPreRequest})
	h.want("refuse out:canceled")
}

// TestOverdue: SC-A28: in whichever callback the service blocks, the parent is answered in
// time, and all callbacks are still called in order.
func TestOverdue(t *testing.T) {
	spec.Covers(t, "SC-A28")
	limit := func(depth int) time.Duration {
		if depth == 1 {
			return testGuard / 2
		}
		return time.Duration(2*depth-1)*(testRTT+testGuard) - testRTT - testGuard
	}
	h := newHarness(t, 8, 4, nil)
	begin := h.now
	h.admitted(nil)
	h.advance()
	h.want("refuse")
	if h.now-begin != limit(3) || h.refusal().Status != wire.ETIMEDOUT {
		t.Errorf("pre-request: %v after %v", h.refusal().Status, h.now-begin)
	}
	h.step(Input{Kind: InPreRequest})
	h.want("out:timed out")

	h = newHarness(t, 8, 7, nil)
	begin = h.now
	h.running(nil)
	h.step(Input{Kind: InPostReply})
	h.advance()
	h.want("reply")
	if h.now-begin != limit(1) || h.trailer()[0] != (wire.Missing{Rank: 7, Status: wire.ETIMEDOUT, Scope: wire.Node}) {
		t.Errorf("leaf: %v after %v", h.trailer(), h.now-begin)
	}
	h.step(Input{Kind: Answer, Final: true})
	h.want("")
	h.step(Input{Kind: InSent, Child: Upward})
	h.want("out")

	h = newHarness(t, 8, 4, nil)
	h.admitted(func(r *wire.RequestHeader) { r.Bulk.Length = 5 })
	h.step(Input{Kind: InPreRequest})
	h.advance()
	h.want("refuse stop")
	h.step(Input{Kind: InFetched, Status: wire.ETIMEDOUT})
	h.want("child0:timed out child1:timed out incoming:timed out")
}

// TestLongService: SC-38, SC-A25: a service's own estimate extends the timeouts of this node's
// children, and is not passed on.
func TestLongService(t *testing.T) {
	spec.Covers(t, "SC-38", "SC-A25")
	h := newHarness(t, 8, 6, nil)
	h.admitted(func(r *wire.RequestHeader) { r.Processing = 20 * time.Millisecond })
	h.step(Input{Kind: InPreRequest, Timeout: time.Second})
	h.want("send0 incoming")
	e := h.find(DoSend)
	if sent, _, _ := wire.ParseRequestHeader(h.out.Buf[e.Data.Begin:e.Data.End]); sent.Processing != 20*time.Millisecond {
		t.Errorf("passed on %v", sent.Processing)
	}
	h.one("long waits", h.m.Stats().LongWaits)
	if c := h.m.requests.get(h.id).children[0]; c.at != h.now+testRTT+testGuard+time.Second {
		t.Errorf("waits until %v", c.at-h.now)
	}
	h.step(Input{Kind: InIncoming})
	h.advance() // this node's timeout ends before the child's
	h.want("reply")
	if got := h.trailer(); len(got) != 2 || got[0] != (wire.Missing{Rank: 7, Status: wire.ETIMEDOUT, Scope: wire.Subtree}) || got[1] != (wire.Missing{Rank: 6, Status: wire.ETIMEDOUT, Scope: wire.Node}) {
		t.Errorf("%v", got)
	}
}

// TestLongestTimeout: SC-37: a broadcast whose timeouts do not fit the header of a request is refused, even if
// MaxTimeout is longer. Members would otherwise give up earlier than the root expects.
func TestLongestTimeout(t *testing.T) {
	spec.Covers(t, "SC-37")
	h := newHarness(t, 2, 0, func(c *Config) { c.MaxTimeout = 24 * time.Hour })
	h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: h.members}})
	h.group = h.find(Created).Group
	h.begin(wire.EINVAL, Outgoing{Processing: 2 * time.Hour})
	const longest = wire.MaxTime
	h.begin(wire.EINVAL, Outgoing{Processing: longest + 1})
	h.begin(wire.EINVAL, Outgoing{Processing: -1})
	h.step(Input{Kind: Broadcast, Broadcast: &Outgoing{Group: h.group, Service: testService, Token: 2, Processing: longest}})
	e := h.find(DoSend)
	if sent, _, err := wire.ParseRequestHeader(h.out.Buf[e.Data.Begin:e.Data.End]); err != nil || sent.Processing != longest {
		t.Errorf("sent %v, %v", sent.Processing, err)
	}
}

// TestOverdueEarly: SC-A28: a request that waits for the service to map the group, or for the
// list of members, is also answered before the parent's timeout.
func TestOverdueEarly(t *testing.T) {
	spec.Covers(t, "SC-A28")
	h := newHarness(t, 8, 4, nil)
	h.group = wire.GroupID{Incarnation: 3, Index: 4, Digest: h.members.Digest()}
	h.admitted(func(r *wire.RequestHeader) { r.Flags = wire.FlagOOB })
	h.want("map")
	h.advance()
	if h.want("refuse"); h.refusal().Status != wire.ETIMEDOUT {
		t.Errorf("%v", h.refusal().Status)
	}
	h = newHarness(t, 8, 4, nil)
	h.admitted(func(r *wire.RequestHeader) { r.Flags, r.List = wire.FlagList, wire.RMA{Bits: 1, Length: 1000} })
	h.want("fetch")
	h.advance()
	if h.want("refuse stop free"); h.refusal().Status != wire.ETIMEDOUT {
		t.Errorf("%v", h.refusal().Status)
	}
}

// TestAgainRefused: SC-A20: the root's service posts no buffers for the second attempt, or the
// request is aborted before that attempt. The request ends with all members missing.
func TestAgainRefused(t *testing.T) {
	spec.Covers(t, "SC-A20")
	for _, aborted := range []bool{false, true} {
		h := newHarness(t, 4, 0, nil)
		h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: h.members}})
		h.group = h.find(Created).Group
		h.begin(wire.OK, Outgoing{Flags: wire.FlagSubset})
		for _, rank := range []int{2, 1} {
			h.childReplies(rank, func(r *wire.ReplyHeader, in *Input) {
				ours(r, in)
				r.Flags |= wire.ReplyCollective
				r.Status = wire.ESTALE
			})
			h.step(Input{Kind: InReply})
		}
		h.step(Input{Kind: InWithdrawn})
		h.advance()
		h.want("pre")
		in, want := Input{Kind: InPreRequest, Status: wire.EPERM}, wire.EPERM
		if aborted {
			h.step(Input{Kind: Abort})
			in, want = Input{Kind: InPreRequest}, wire.ECANCELED
		}
		h.step(in)
		h.want("child0:" + want.String() + " child1:" + want.String())
		h.step(Input{Kind: InReply})
		h.step(Input{Kind: InReply, Child: 1})
		if e := h.find(CallPostReply); e.Missing.End-e.Missing.Begin != 3 {
			t.Errorf("%+v", e)
		}
	}
}
