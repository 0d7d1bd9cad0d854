package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/wire"
)

// TestMissingOnce: SC-A27: the last part of a child's answer came, with a trailer, and its
// first part did not. The child is missing with all members below, each of them once.
func TestMissingOnce(t *testing.T) {
	spec.Covers(t, "SC-A27")
	h := newHarness(t, 8, 4, nil) // node 4 has the children 6 (with 7 below) and 5
	h.running(nil)
	h.childReplies(6, func(r *wire.ReplyHeader, _ *Input) { r.Part = 1 }, wire.Missing{Rank: 7, Status: wire.EIO, Scope: wire.Node})
	h.step(Input{Kind: InReply, Child: 0})
	h.childReplies(5, nil)
	h.step(Input{Kind: InReply, Child: 1})
	h.step(Input{Kind: Health, From: h.members.NID(6), Lifetime: 1})
	h.step(Input{Kind: InReply, Child: 0})
	h.step(Input{Kind: InWithdrawn})
	h.want("post")
	h.step(Input{Kind: InPostReply})
	h.step(Input{Kind: Answer, Final: true})
	if list := h.trailer(); len(list) != 1 || list[0] != (wire.Missing{Rank: 6, Status: wire.EHOSTDOWN, Scope: wire.Subtree}) {
		t.Errorf("trailer %v", list)
	}
}

// TestOverdueOnce: SC-A28: as in TestMissingOnce, the first part of a child's answer did not
// come. Now the module answers in place of the service before the child is given up. Each
// member is missing once.
func TestOverdueOnce(t *testing.T) {
	spec.Covers(t, "SC-A28")
	h := newHarness(t, 8, 4, nil)
	h.admitted(nil)
	h.step(Input{Kind: InPreRequest})
	h.childReplies(6, func(r *wire.ReplyHeader, _ *Input) { r.Part = 1 }, wire.Missing{Rank: 7, Status: wire.EIO, Scope: wire.Node})
	h.m.requests.slots[0].children[0].at += time.Hour // the child's timeout is late, so that it does not end the request
	for len(h.effects) == 0 || h.effects[0].Kind != DoReply {
		h.advance()
	}
	below := 0
	for _, e := range h.trailer() {
		if e.Rank == 6 || e.Rank == 7 {
			below++
		}
	}
	if below != 1 {
		t.Errorf("trailer %v", h.trailer())
	}
}

// TestSaidTwice: SC-160: the root lists a missing member once, whatever a child sends.
func TestSaidTwice(t *testing.T) {
	spec.Covers(t, "SC-160")
	h := newHarness(t, 4, 0, nil) // the root has the children 2 (with 3 below) and 1
	h.root(wire.OK)
	h.childReplies(1, ours)
	h.step(Input{Kind: InReply, Child: 1})
	h.childReplies(2, ours, wire.Missing{Rank: 3, Status: wire.EIO, Scope: wire.Node}, wire.Missing{Rank: 2, Status: wire.EIO, Scope: wire.Subtree})
	h.step(Input{Kind: InReply, Child: 0})
	h.want("post")
	if e := h.find(CallPostReply); e.Missing.End-e.Missing.Begin != 2 {
		t.Errorf("missing %v", h.out.Missing)
	}
}

// TestSixtyFourParts: SC-54: the highest part number of a reply is reserved for the last part.
func TestSixtyFourParts(t *testing.T) {
	spec.Covers(t, "SC-54")
	h := newHarness(t, 2, 1, nil)
	h.running(nil)
	h.step(Input{Kind: InPostReply})
	for range wire.MaxParts - 1 {
		h.step(Input{Kind: Answer})
		h.want("reply")
	}
	h.step(Input{Kind: Answer})
	h.want("")
	h.step(Input{Kind: Answer, Final: true})
	h.want("reply")
	if r := h.parse(h.find(DoReply)); r.Part != wire.MaxParts-1 || r.Flags&wire.ReplyLast == 0 {
		t.Errorf("the last part: %+v", r)
	}
}

// TestLongTrailer: SC-A27, SC-160: a long trailer of missing members is accepted if it lists
// each of them once. Parsing takes little time for any trailer and any tree.
func TestLongTrailer(t *testing.T) {
	spec.Covers(t, "SC-160", "SC-A27")
	const n = 30_000
	for _, tt := range []struct {
		name string
		want string
		make func(i int) wire.Missing
	}{
		{"each once", "child0", func(i int) wire.Missing { return wire.Missing{Rank: uint32(i), Status: wire.EIO, Scope: wire.Node} }},
		{"one twice", "unpost0 child0:" + wire.EPROTO.String(), func(i int) wire.Missing {
			return wire.Missing{Rank: uint32(max(i, 2)), Status: wire.EIO, Scope: wire.Node}
		}},
		{"each with all below", "unpost0 child0:" + wire.EPROTO.String(), func(i int) wire.Missing {
			return wire.Missing{Rank: uint32(n - i), Status: wire.EIO, Scope: wire.Subtree}
		}},
		{"nobody", "unpost0 child0:" + wire.EPROTO.String(), func(i int) wire.Missing { return wire.Missing{Rank: n + uint32(i), Status: wire.EIO, Scope: wire.Node} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t, n, 0, nil)
			h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: h.members, Tree: wire.Tree{Type: wire.KAry, K: 1}}})
			// The list is too long for the message of the request. Let the members know the list, so that the
			// message need not contain it.
			h.m.table.list[0].complete = true
			h.m.cfg.MaxTimeout = 24 * time.Hour
			h.group = h.find(Created).Group
			h.begin(wire.OK, Outgoing{})
			var list []wire.Missing
			for i := 1; i < n; i++ {
				list = append(list, tt.make(i))
			}
			begin := time.Now()
			h.childReplies(1, ours, list...)
			if took := time.Since(begin); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
			h.want(tt.want)
		})
	}
}
