package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/wire"
)

// speaks returns a function that changes a child's reply to one that the child's module sends
// in place of the child's service.
func speaks(s wire.Status, carried ...[]byte) func(*wire.ReplyHeader, *Input) {
	return func(r *wire.ReplyHeader, in *Input) {
		in.Carried = slices.Concat(carried...)
		r.Status, r.PayloadSize, r.Carried = s, 0, uint32(len(in.Carried))
		in.Length = wire.ReplyHeaderSize + len(in.Carried) + len(in.Trailer)
	}
}

// carried returns a member's message as a reply of its parent carries it.
func carried(rank, part int, last bool, payload string) []byte {
	c := wire.Carried{Rank: uint32(rank), Part: uint8(part), Last: last, Size: uint32(len(payload))}
	return append(c.AppendTo(nil), payload...)
}

// TestCarriedAnswers: G-SC-8, SC-160: the parent's service gets valid carried answers as if
// they were answers of its children. A carried answer is valid if it is whole, is of a member
// below the child, comes once, and is not of a member in a subtree that the trailer lists.
func TestCarriedAnswers(t *testing.T) {
	spec.Covers(t, "SC-160", "G-SC-8")
	const bad = "unpost0 child0:not understood"
	own := wire.Missing{Rank: 4, Status: wire.EIO, Scope: wire.Node}
	for _, tt := range []struct {
		name    string
		trailer []wire.Missing
		carried [][]byte
		want    string
	}{
		{"nothing", []wire.Missing{own}, nil, "unpost0 child0:failed"},
		{"two", []wire.Missing{own}, [][]byte{carried(5, 0, true, "a"), carried(6, 0, true, "b")}, "unpost0 child0 child0 child0:failed"},
		{"in parts", []wire.Missing{own}, [][]byte{carried(6, 0, false, "a"), carried(6, 1, true, "b")}, "unpost0 child0 child0 child0:failed"},
		{"from further below", []wire.Missing{own, {Rank: 6, Status: wire.EIO, Scope: wire.Node}}, [][]byte{carried(7, 0, true, "a")}, "unpost0 child0 child0:failed"},
		{"of one who speaks for those below", []wire.Missing{own, {Rank: 6, Status: wire.EIO, Scope: wire.Node}}, [][]byte{carried(6, 0, true, "a")}, "unpost0 child0 child0:failed"},
		{"beside one below that is dead", []wire.Missing{own, {Rank: 7, Status: wire.EHOSTDOWN, Scope: wire.Subtree}}, [][]byte{carried(6, 0, true, "a")}, "unpost0 child0 child0:failed"},
		{"the child itself is not named", nil, [][]byte{carried(6, 0, true, "a")}, bad},
		{"the child itself", []wire.Missing{own}, [][]byte{carried(4, 0, true, "a")}, bad},
		{"the parent", []wire.Missing{own}, [][]byte{carried(0, 0, true, "a")}, bad},
		{"a sibling", []wire.Missing{own}, [][]byte{carried(2, 0, true, "a")}, bad},
		{"nobody", []wire.Missing{own}, [][]byte{carried(1<<31, 0, true, "a")}, bad},
		{"twice", []wire.Missing{own}, [][]byte{carried(6, 0, true, "a"), carried(6, 0, true, "a")}, bad},
		{"one below another", []wire.Missing{own}, [][]byte{carried(6, 0, true, "a"), carried(7, 0, true, "a")}, bad},
		{"one above another", []wire.Missing{own}, [][]byte{carried(7, 0, true, "a"), carried(6, 0, true, "a")}, bad},
		{"named with all below", []wire.Missing{own, {Rank: 6, Status: wire.EIO, Scope: wire.Subtree}}, [][]byte{carried(6, 0, true, "a")}, bad},
		{"below one named with all below", []wire.Missing{own, {Rank: 6, Status: wire.EIO, Scope: wire.Subtree}}, [][]byte{carried(7, 0, true, "a")}, bad},
		{"without the last part", []wire.Missing{own}, [][]byte{carried(6, 0, false, "a")}, bad},
		{"without the first part", []wire.Missing{own}, [][]byte{carried(6, 1, true, "a")}, bad},
		{"without a part", []wire.Missing{own}, [][]byte{carried(6, 0, false, "a"), carried(6, 2, true, "a")}, bad},
		{"after the last part", []wire.Missing{own}, [][]byte{carried(6, 0, true, "a"), carried(6, 1, true, "a")}, bad},
		{"parts of two mixed", []wire.Missing{own}, [][]byte{carried(5, 0, false, "a"), carried(6, 1, true, "a")}, bad},
		{"cut", []wire.Missing{own}, [][]byte{carried(6, 0, true, "a")[:12]}, bad},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t, 8, 0, nil) // children 4 (with 5, 6 and 7 below), 2 and 1
			h.root(wire.OK)
			h.childReplies(4, func(r *wire.ReplyHeader, in *Input) { ours(r, in); speaks(wire.EIO, tt.carried...)(r, in) }, tt.trailer...)
			h.want(tt.want)
			for _, e := range h.effects {
				if e.Kind == CallReply && e.Status == wire.OK && (!e.Passed || e.Data.End-e.Data.Begin != 1 || e.Rank < 5) {
					t.Errorf("%+v", e)
				}
			}
			if last := h.effects[len(h.effects)-1]; tt.want != bad && (last.Nodes != 1 || last.Rank != 4 || !last.Collective) {
				t.Errorf("%+v", last)
			}
		})
	}
	h := newHarness(t, 8, 0, nil)
	h.root(wire.OK)
	h.childReplies(4, func(r *wire.ReplyHeader, in *Input) {
		ours(r, in)
		speaks(wire.EIO, carried(6, 0, true, "a"))(r, in)
		r.Carried--
		in.Length--
	}, own)
	h.want(bad)
}

// TestPassedOn: G-SC-8: the module passes on as many answers as fit, in the order of ranks and
// parts. The trailer lists each of the other members once.
func TestPassedOn(t *testing.T) {
	spec.Covers(t, "G-SC-8")
	answer := func(h *harness, rank int, payload string, missing ...wire.Missing) {
		h.childReplies(rank, func(r *wire.ReplyHeader, in *Input) {
			in.Payload = []byte(payload)
			in.Length += len(payload) - int(r.PayloadSize)
			r.PayloadSize = uint32(len(payload))
		}, missing...)
	}
	own := wire.Missing{Rank: 4, Status: wire.EIO, Scope: wire.Node}
	for _, tt := range []struct {
		name    string
		carry   uint16
		missing []wire.Missing // members below node 6 that are missing
		want    []byte
		trailer []wire.Missing
	}{
		{"all", 100, nil, slices.Concat(carried(5, 0, true, "five"), carried(6, 0, true, "six")), []wire.Missing{own}},
		{"all but one who is named", 100, []wire.Missing{{Rank: 7, Status: wire.EPERM, Scope: wire.Node}}, slices.Concat(carried(5, 0, true, "five"), carried(6, 0, true, "six")), []wire.Missing{{Rank: 7, Status: wire.EPERM, Scope: wire.Node}, own}},
		{"what fits", 16, nil, carried(6, 0, true, "six"), []wire.Missing{own, {Rank: 5, Status: wire.ELOST, Scope: wire.Subtree}}},
		{"nothing", 0, nil, nil, []wire.Missing{own, {Rank: 6, Status: wire.ELOST, Scope: wire.Subtree}, {Rank: 5, Status: wire.ELOST, Scope: wire.Subtree}}},
		{"nothing but one who is named", 0, []wire.Missing{{Rank: 7, Status: wire.EPERM, Scope: wire.Node}}, nil, []wire.Missing{{Rank: 7, Status: wire.EPERM, Scope: wire.Node}, own, {Rank: 6, Status: wire.ELOST, Scope: wire.Node}, {Rank: 5, Status: wire.ELOST, Scope: wire.Subtree}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t, 8, 4, nil) // node 4 has the children 6 (with 7 below) and 5
			h.admitted(func(r *wire.RequestHeader) { r.Carry = tt.carry })
			h.step(Input{Kind: InPreRequest})
			answer(h, 6, "six", tt.missing...)
			h.step(Input{Kind: InReply, Child: 0})
			answer(h, 5, "five")
			h.step(Input{Kind: InIncoming, Status: wire.EIO})
			h.step(Input{Kind: InReply, Child: 1})
			h.want("post")
			h.step(Input{Kind: InPostReply})
			h.want("reply")
			e := h.find(DoReply)
			if got := h.out.Buf[e.Carried.Begin:e.Carried.End]; !slices.Equal(got, tt.want) {
				t.Errorf("carries %x, want %x", got, tt.want)
			}
			lost := uint64(len(tt.trailer) - 1 - len(tt.missing))
			if s := h.m.Stats(); s.Lost != lost || s.PassedOn+s.Lost != 2 {
				t.Errorf("%d passed on, %d lost", s.PassedOn, s.Lost)
			}
			if got := h.trailer(); !slices.Equal(got, tt.trailer) {
				t.Errorf("names %v, want %v", got, tt.trailer)
			}
			if r := h.parse(e); r.Status != wire.EIO || int(r.Carried) != len(tt.want) || r.PayloadSize != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestPassedOnOnce: G-SC-8: a part of a child's answer has come, but the last part does not come or does
// not fit. Then no part is passed on to the parent, and the child's subtree is listed as missing. If
// the child's module answers in place of its service, only what that answer carries is passed on.
func TestPassedOnOnce(t *testing.T) {
	spec.Covers(t, "G-SC-8")
	five, seven := carried(5, 0, true, "five"), carried(7, 0, true, "7")
	for _, tt := range []struct {
		name    string
		then    func(h *harness, part func(n uint32, flags wire.ReplyFlags, payload string))
		carried [][]byte
		named   []wire.Missing
	}{
		{"dies", func(h *harness, _ func(uint32, wire.ReplyFlags, string)) {
			h.step(Input{Kind: Health, From: h.members.NID(6), Lifetime: 1})
		}, [][]byte{five}, []wire.Missing{{Rank: 4, Status: wire.EPERM, Scope: wire.Node}, {Rank: 6, Status: wire.EHOSTDOWN, Scope: wire.Subtree}}},
		{"is spoken for", func(h *harness, _ func(uint32, wire.ReplyFlags, string)) {
			h.childReplies(6, func(r *wire.ReplyHeader, in *Input) { speaks(wire.EIO, seven)(r, in); r.Part = 1 }, wire.Missing{Rank: 6, Status: wire.EIO, Scope: wire.Node})
		}, [][]byte{five, seven}, []wire.Missing{{Rank: 4, Status: wire.EPERM, Scope: wire.Node}, {Rank: 6, Status: wire.EIO, Scope: wire.Node}}},
		{"does not fit", func(_ *harness, part func(uint32, wire.ReplyFlags, string)) {
			part(1, wire.ReplyLast, "last")
		}, [][]byte{five}, []wire.Missing{{Rank: 4, Status: wire.EPERM, Scope: wire.Node}, {Rank: 6, Status: wire.ELOST, Scope: wire.Subtree}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t, 8, 4, nil)
			h.admitted(func(r *wire.RequestHeader) { r.Carry = 30 })
			h.step(Input{Kind: InPreRequest})
			h.step(Input{Kind: InIncoming, Status: wire.EPERM})
			part := func(n uint32, flags wire.ReplyFlags, payload string) {
				h.childReplies(6, func(r *wire.ReplyHeader, in *Input) { r.Part, r.Flags, in.Payload = n, flags, []byte(payload) })
			}
			part(0, 0, "part")
			h.returns()
			tt.then(h, part)
			h.returns()
			h.childReplies(5, func(_ *wire.ReplyHeader, in *Input) { in.Payload = []byte("five") })
			h.returns()
			if h.effects[0].Kind == DoWithdraw {
				h.step(Input{Kind: InWithdrawn})
			}
			h.want("post")
			h.step(Input{Kind: InPostReply})
			if got := h.trailer(); !slices.Equal(got, tt.named) {
				t.Errorf("names %v, want %v", got, tt.named)
			}
			e := h.find(DoReply)
			if got, want := h.out.Buf[e.Carried.Begin:e.Carried.End], slices.Concat(tt.carried...); !slices.Equal(got, want) {
				t.Errorf("carries %x, want %x", got, want)
			}
		})
	}
}

// returns makes the incoming-reply callbacks of the latest step return.
func (h *harness) returns() {
	h.t.Helper()
	for _, e := range h.effects {
		if e.Kind == CallReply {
			h.step(Input{Kind: InReply, Child: e.Child})
		}
	}
}

// TestReplyBelow: SC-133: a service can reply for its children alone. Then its own member is
// missing, with the error of incoming-request if there is one.
func TestReplyBelow(t *testing.T) {
	spec.Covers(t, "SC-133")
	for _, failed := range []wire.Status{wire.OK, wire.EIO} {
		h := newHarness(t, 8, 7, nil)
		h.admitted(nil)
		h.step(Input{Kind: InPreRequest})
		h.step(Input{Kind: InIncoming, Status: failed})
		h.step(Input{Kind: Answer, Final: true, Below: true, Status: wire.EAGAIN, Size: 3})
		h.want("reply")
		want := wire.Missing{Rank: 7, Status: max(failed, wire.EAGAIN), Scope: wire.Node}
		if failed != wire.OK {
			want.Status = failed
		}
		if got, r := h.trailer(), h.parse(h.find(DoReply)); len(got) != 1 || got[0] != want || r.Status != wire.OK || r.PayloadSize != 3 {
			t.Errorf("%v, %+v", got, r)
		}
		h.step(Input{Kind: InPostReply})
		h.want("")
	}
}

// TestRoomForCarried: the carried bytes of all inner children of a request are bounded; leaves
// carry nothing.
func TestRoomForCarried(t *testing.T) {
	h := newHarness(t, 5000, 0, nil)
	sends := func(shape wire.Tree, carry int) (sends []Effect) {
		h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: h.members, Tree: shape}})
		h.group = h.find(Created).Group
		// The list is too long for the message of the request. Let the members know the list, so that the
		// message need not contain it.
		h.m.table.groups[keyOf(h.group, testService)].complete = true
		h.step(Input{Kind: Broadcast, Broadcast: &Outgoing{Token: 2, Group: h.group, Service: testService, Carry: carry}})
		return slices.DeleteFunc(slices.Clone(h.effects), func(e Effect) bool { return e.Kind != DoSend })
	}
	room := 0
	for _, e := range sends(wire.Tree{Type: wire.KAry, K: 100}, wire.MaxCarry) {
		sent, _, err := wire.ParseRequestHeader(h.out.Buf[e.Data.Begin:e.Data.End])
		if room += e.Room; err != nil || e.Room > 0 && int(sent.Carry) != e.Room || (e.Nodes > 1) != (e.Room > 0) {
			t.Fatalf("room %d for %d nodes, told %d, %v", e.Room, e.Nodes, sent.Carry, err)
		}
	}
	if room > maxRooms || room < maxRooms/2 {
		t.Errorf("room for %d bytes", room)
	}
	for carry, want := range map[int]int{0: wire.DefaultCarry, 100: 100, -1: 0} {
		if e := sends(wire.Tree{}, carry)[0]; e.Room != want {
			t.Errorf("carry %d: room %d", carry, e.Room)
		}
	}
}

// TestTrailerTooLong: SC-A27: if the missing members do not fit a message, the whole subtree
// is missing, and the service's answer does not count.
func TestTrailerTooLong(t *testing.T) {
	spec.Covers(t, "SC-A27")
	const n = MaxTrailer + 10
	for _, silent := range []bool{false, true} {
		h := newHarness(t, n, 1, func(c *Config) { c.MaxTimeout = 24 * time.Hour })
		h.m.parse = func([]byte) (*wire.Membership, error) { return h.members, nil }
		h.admitted(func(r *wire.RequestHeader) {
			r.Tree, r.Flags, r.List = wire.Tree{Type: wire.KAry, K: 1}, wire.FlagList, wire.RMA{Bits: 1, Length: 1000}
		})
		h.step(Input{Kind: InFetched})
		h.want("pre")
		h.step(Input{Kind: InPreRequest})
		h.step(Input{Kind: InIncoming})
		var list []wire.Missing
		for i := 3; i < n; i++ {
			list = append(list, wire.Missing{Rank: uint32(i), Status: wire.EIO, Scope: wire.Node})
		}
		h.childReplies(2, nil, list...)
		h.step(Input{Kind: InReply})
		h.want("withdraw")
		h.step(Input{Kind: InWithdrawn})
		h.want("post")
		h.step(Input{Kind: InPostReply})
		if silent {
			h.advance()
		} else {
			h.step(Input{Kind: Answer, Final: true, Size: 3})
		}
		h.want("refuse out")
		if r := h.refusal(); r.Status != wire.EIO || r.Nodes != n-1 {
			t.Errorf("%+v", r)
		}
	}
}
