package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/wire"
)

// attempt delivers a request that is an attempt of the broadcast with sequence number 1, which goes to the live
// members only, and compares the effects with words.
func (h *harness) attempt(sequence uint64, words string) {
	h.t.Helper()
	h.admitted(func(r *wire.RequestHeader) {
		r.Sequence = sequence
		r.Flags, r.Live = r.Flags|wire.FlagSubset, h.members.Digest()
	})
	h.want(words)
}

// TestAttemptUndecided: SC-A20, SC-43: an attempt that arrives while an earlier one may still
// be refused is not accepted. The attempt after it runs.
func TestAttemptUndecided(t *testing.T) {
	spec.Covers(t, "SC-43", "SC-A20")
	h := newHarness(t, 8, 7, nil)
	h.attempt(1, "pre")
	h.attempt(2, "refuse")
	if h.refusal().Status != wire.ESTALE {
		t.Errorf("refused with %v", h.refusal().Status)
	}
	h.step(Input{Kind: InPreRequest, Status: wire.EBUSY})
	h.want("refuse free")
	h.attempt(3, "pre")
	h.step(Input{Kind: InPreRequest})
	h.want("incoming post")
}

// TestAttemptFollows: SC-A20, SC-133: an attempt that arrives while the service runs an earlier
// one is answered when the service has returned, with the service's error. An attempt that
// arrives after that is answered in the same way.
func TestAttemptFollows(t *testing.T) {
	spec.Covers(t, "SC-133", "SC-A20")
	h := newHarness(t, 8, 7, nil)
	h.attempt(1, "pre")
	first := h.id
	h.step(Input{Kind: InPreRequest})
	h.want("incoming post")
	h.attempt(2, "pre")
	if second := h.find(CallPreRequest); !second.Again {
		t.Error("the service is not told that it runs this already")
	}
	second := h.id
	h.step(Input{Kind: InPreRequest})
	h.want("")
	h.step(Input{Kind: InIncoming, ID: first, Status: wire.EIO})
	h.want("post")
	h.step(Input{Kind: InPostReply, ID: second})
	h.want("reply")
	failed := wire.Missing{Rank: 7, Status: wire.EIO, Scope: wire.Node}
	if list := h.trailer(); h.find(DoReply).ID != second || len(list) != 1 || list[0] != failed {
		t.Errorf("%+v, trailer %v", h.find(DoReply), list)
	}
	h.attempt(3, "pre")
	h.step(Input{Kind: InPreRequest})
	h.want("post")
	h.step(Input{Kind: Answer, Final: true}) // the service must not answer
	h.want("")
	h.step(Input{Kind: InPostReply})
	h.want("reply")
	if list := h.trailer(); len(list) != 1 || list[0] != failed {
		t.Errorf("trailer %v", list)
	}
}

// TestAttemptsOfOthers: SC-A20: a further attempt of a broadcast is answered with the result of that broadcast, not
// with the error of another one.
func TestAttemptsOfOthers(t *testing.T) {
	spec.Covers(t, "SC-A20")
	h := newHarness(t, 8, 7, nil)
	h.attempt(1, "pre")
	h.step(Input{Kind: InPreRequest})
	h.step(Input{Kind: InIncoming, Status: wire.EIO})
	for sequence := uint64(2); sequence < 4; sequence++ {
		h.admitted(func(r *wire.RequestHeader) {
			r.Sequence, r.First = sequence, sequence
			r.Flags, r.Live = r.Flags|wire.FlagSubset, h.members.Digest()
		})
		h.want("pre")
	}
	h.step(Input{Kind: InPreRequest})
	h.want("incoming post")
	h.step(Input{Kind: InIncoming})
	h.leave()
	h.admitted(func(r *wire.RequestHeader) {
		r.Sequence, r.First = 4, 3
		r.Flags, r.Live = r.Flags|wire.FlagSubset, h.members.Digest()
	})
	h.step(Input{Kind: InPreRequest})
	h.want("post")
	h.step(Input{Kind: InPostReply})
	h.step(Input{Kind: Answer, Final: true})
	if h.want("reply"); len(h.trailer()) != 0 {
		t.Errorf("trailer %v", h.trailer())
	}
}

// TestAttemptsOfManyRoots: SC-A20, SC-160: the requests of many roots come by the same parent. Another attempt of
// the first root's broadcast does not run again, also after the group was displaced.
func TestAttemptsOfManyRoots(t *testing.T) {
	spec.Covers(t, "SC-160", "SC-A20")
	const roots = maxRoots + 10
	h := newHarness(t, 2*roots, 2*roots-1, nil) // a leaf below node 2*roots-2 in the trees of all roots with even numbers
	attempt := func(root int, sequence uint64, again bool) {
		t.Helper()
		h.liveOutOfBand(2*roots-2, root, sequence, 0, "payload", again)
	}
	for root := range roots {
		attempt(2*root, 1, false)
	}
	attempt(0, 2, true)
	h.m.displace(h.m.table.list[0])
	attempt(2*(roots-ghostRuns), 2, true)
}

// TestConvergence: SC-A20: before another attempt the root waits for the time that the latest input Convergence gave.
func TestConvergence(t *testing.T) {
	spec.Covers(t, "SC-A20")
	h := newHarness(t, 2, 0, nil)
	h.step(Input{Kind: Convergence, Timeout: 7 * time.Second})
	h.live()
	h.disagree(1)
	h.step(Input{Kind: InWithdrawn})
	if got := h.wake - h.now; got != 7*time.Second {
		t.Errorf("the root waits %v", got)
	}
}

// live begins a broadcast of member 0 to the live members.
func (h *harness) live() {
	h.t.Helper()
	h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: h.members}})
	h.group = h.find(Created).Group
	h.begin(wire.OK, Outgoing{Flags: wire.FlagSubset})
}

// disagree makes the only child answer ESTALE: the live members that it knows are not those of the root.
func (h *harness) disagree(sequence uint64) {
	h.t.Helper()
	h.childReplies(1, func(r *wire.ReplyHeader, in *Input) {
		*r = wire.ReplyHeader{RootIncarnation: 5, Sequence: sequence, Flags: wire.ReplyLast | wire.ReplyCollective, Status: wire.ESTALE}
		in.Length = wire.ReplyHeaderSize
	})
	h.step(Input{Kind: InReply})
}

// TestAttemptsApart: SC-A20, SC-43: a broadcast to the live members waits for another attempt. Meanwhile the
// root starts other broadcasts only if their sequence numbers are within windowSize of that of the waiting
// broadcast's first attempt. Otherwise members would take the next attempt for a duplicate.
func TestAttemptsApart(t *testing.T) {
	spec.Covers(t, "SC-43", "SC-A20")
	h := newHarness(t, 2, 0, nil)
	h.live()
	live, sequence := h.id, uint64(1)
	for attempt := range 3 {
		h.disagree(sequence)
		h.step(Input{Kind: InWithdrawn})
		h.want("")
		for range 80 { // other broadcasts, while the first one waits for its next attempt
			h.id = 0
			h.begin(wire.OK, Outgoing{})
			h.childReplies(1, func(r *wire.ReplyHeader, _ *Input) { r.RootIncarnation, r.Sequence = 5, h.m.table.list[0].sequence })
			h.step(Input{Kind: InReply})
			h.step(Input{Kind: InPostReply})
			h.want("free")
		}
		h.id = live
		h.advance()
		h.want("pre")
		h.step(Input{Kind: InPreRequest})
		h.want("send0")
		header, _, _ := wire.ParseRequestHeader(h.out.Buf[h.find(DoSend).Data.Begin:])
		if sequence = header.Sequence; header.First != 1 || sequence-1 >= windowSize {
			t.Fatalf("attempt %d has number %d of a broadcast of %d", attempt, sequence, header.First)
		}
	}
	id := h.id
	h.m.table.list[0].pace.size = windowSize
	for range windowSize - 1 - sequence + 1 {
		h.id = 0
		h.begin(wire.OK, Outgoing{})
	}
	h.begin(wire.OK, Outgoing{})
	h.one("waiting", h.m.stats.Waited)
	h.id = id
}

// TestAttemptWithoutGroup: SC-84, SC-A20: a group ends while a broadcast over it waits for another attempt. The
// broadcast ends without that attempt, and the group does not come back.
func TestAttemptWithoutGroup(t *testing.T) {
	spec.Covers(t, "SC-84", "SC-A20")
	h := newHarness(t, 2, 0, nil)
	h.live()
	h.disagree(1)
	h.step(Input{Kind: InWithdrawn})
	h.want("")
	h.m.table.remove(h.m.table.list[0])
	h.advance()
	h.want("post")
	if e := h.find(CallPostReply); e.Missing.End-e.Missing.Begin != 1 || len(h.m.table.list) != 0 {
		t.Errorf("missing %v, %d groups", h.out.Missing, len(h.m.table.list))
	}
}

// TestRootFailsOnce: SC-133, SC-A20: if the root's own service failed to run the first attempt,
// the root is missing in the result of the second.
func TestRootFailsOnce(t *testing.T) {
	spec.Covers(t, "SC-133", "SC-A20")
	h := newHarness(t, 2, 0, nil)
	h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: h.members}})
	h.group = h.find(Created).Group
	h.step(Input{Kind: Broadcast, Broadcast: &Outgoing{Group: h.group, Service: testService, Token: 2, Flags: wire.FlagSubset}})
	h.step(Input{Kind: InIncoming, Status: wire.EIO})
	h.disagree(1)
	h.step(Input{Kind: InWithdrawn})
	h.now += time.Second
	h.advance()
	h.want("pre")
	h.step(Input{Kind: InPreRequest})
	h.childReplies(1, func(r *wire.ReplyHeader, _ *Input) { r.RootIncarnation, r.Sequence = 5, 2 })
	h.step(Input{Kind: InReply})
	if h.want("post"); len(h.out.Missing) != 1 || h.out.Missing[0] != (wire.Missing{Rank: 0, Status: wire.EIO, Scope: wire.Node}) {
		t.Errorf("missing %v", h.out.Missing)
	}
	h.step(Input{Kind: InPostReply})
	if busy := h.m.table.list[0].busy; len(busy) != 0 {
		t.Errorf("under way still: %v", busy)
	}
}

// TestRunOnceInThree: SC-43, SC-A20: a member runs the first attempt of a broadcast to the live
// members, and gets no bulk data for the second. It does not run the third.
func TestRunOnceInThree(t *testing.T) {
	spec.Covers(t, "SC-43", "SC-A20")
	h := newHarness(t, 8, 7, nil) // node 7 is a leaf of the tree
	attempt := func(sequence uint64) {
		t.Helper()
		h.admitted(func(r *wire.RequestHeader) {
			r.Sequence, r.Bulk = sequence, wire.RMA{Bits: 99, Length: 100}
			r.Flags, r.Live = r.Flags|wire.FlagSubset, h.members.Digest()
		})
		h.want("pre")
		if again := h.find(CallPreRequest).Again; again != (sequence > 1) {
			t.Errorf("attempt %d: again is %v", sequence, again)
		}
		h.step(Input{Kind: InPreRequest})
		h.want("fetch")
	}
	attempt(1)
	h.step(Input{Kind: InFetched})
	h.want("incoming post")
	h.step(Input{Kind: InIncoming})
	h.step(Input{Kind: InPostReply})
	h.leave()
	attempt(2)
	h.step(Input{Kind: InFetched, Status: wire.EIO})
	h.want("refuse incoming:failed") // the refused attempt does not run
	h.step(Input{Kind: InIncoming})
	h.want("post")
	h.step(Input{Kind: InPostReply})
	h.want("out")
	h.step(Input{Kind: InReplyOut})
	h.want("free")
	attempt(3)
	h.step(Input{Kind: InFetched})
	h.want("post")
}

// TestAttemptNewList: SC-A20, SC-92: the list of an out-of-band group changes while a broadcast waits for another
// attempt. That attempt would go to other members, and this node may not be among them. The broadcast ends
// instead.
func TestAttemptNewList(t *testing.T) {
	spec.Covers(t, "SC-92", "SC-A20")
	for _, tt := range []struct {
		name  string
		list  []wire.Target
		alive bool
	}{
		{"one more", testTargets(3, 2), true},
		{"without this node", testTargets(3, 2)[1:], true},
		{"without this node, all dead", testTargets(3, 2)[1:], false},
	} {
		h := newHarness(t, 2, 0, nil)
		h.group = wire.GroupID{Index: 3}
		o := Outgoing{Flags: wire.FlagSubset | wire.FlagOOB, Members: h.members}
		h.begin(wire.OK, o)
		h.disagree(1)
		h.step(Input{Kind: InWithdrawn})
		h.want("")
		members, err := wire.NewMembership(tt.list)
		if err != nil {
			t.Fatal(err)
		}
		for rank := range members.Len() {
			h.step(Input{Kind: Health, From: members.NID(rank), Alive: tt.alive})
		}
		o.Group, o.Service, o.Members = h.group, testService, members
		_, _ = h.m.Plan(&o, nil) // of a further broadcast
		h.advance()
		h.want("post")
		if list := h.out.Missing; len(list) != 1 || list[0] != (wire.Missing{Rank: 1, Status: wire.ESTALE, Scope: wire.Node}) {
			t.Errorf("%s: missing %v", tt.name, list)
		}
	}
}

// TestServiceStale: SC-A20: services may use the status ESTALE for errors of their own. The root makes no further
// attempt for such an error: all members have answered.
func TestServiceStale(t *testing.T) {
	spec.Covers(t, "SC-A20")
	stale := wire.Missing{Rank: 1, Status: wire.ESTALE, Scope: wire.Node}
	for _, tt := range []struct {
		name  string
		root  wire.Status
		child []wire.Missing
	}{
		{"of the root", wire.ESTALE, nil},
		{"of a child", wire.OK, []wire.Missing{stale}},
	} {
		h := newHarness(t, 2, 0, nil)
		h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: h.members}})
		h.group = h.find(Created).Group
		h.step(Input{Kind: Broadcast, Broadcast: &Outgoing{Group: h.group, Service: testService, Token: 2, Flags: wire.FlagSubset}})
		h.step(Input{Kind: InIncoming, Status: tt.root})
		h.childReplies(1, ours, tt.child...)
		h.step(Input{Kind: InReply})
		if h.want("post"); len(h.out.Missing) != 1 || h.out.Missing[0].Status != wire.ESTALE {
			t.Errorf("%s: missing %v", tt.name, h.out.Missing)
		}
	}
}
