package scoll

import (
	"testing"
	"time"
)

// TestMissingOnce: SC-A27: a child whose last part came, with news of those
// below it, and whose first did not, is missing with all below, each once.
func TestMissingOnce(t *testing.T) {
	h := newHarness(t, 8, 4, nil) // children 6, with 7 below, and 5
	h.running(nil)
	h.childReplies(6, func(r *ReplyHeader, _ *Input) { r.Part = 1 }, Missing{7, EIO, Node})
	h.step(Input{Kind: InReply, Child: 0})
	h.childReplies(5, nil)
	h.step(Input{Kind: InReply, Child: 1})
	h.step(Input{Kind: Health, From: h.members.NID(6), Lifetime: 1})
	h.step(Input{Kind: InReply, Child: 0})
	h.step(Input{Kind: InWithdrawn})
	h.want("post")
	h.step(Input{Kind: InPostReply})
	h.step(Input{Kind: Answer, Final: true})
	if list := h.trailer(); len(list) != 1 || list[0] != (Missing{6, EHOSTDOWN, Subtree}) {
		t.Errorf("trailer %v", list)
	}
}

// TestOverdueOnce: SC-A28: likewise where the module answers meanwhile.
func TestOverdueOnce(t *testing.T) {
	h := newHarness(t, 8, 4, nil)
	h.admitted(nil)
	h.step(Input{Kind: InPreRequest})
	h.childReplies(6, func(r *ReplyHeader, _ *Input) { r.Part = 1 }, Missing{7, EIO, Node})
	h.m.requests.slots[0].children[0].at += time.Hour // its time-out is not what ends it
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

// TestSaidTwice: Bad input: the root names a member once, whatever a child says.
func TestSaidTwice(t *testing.T) {
	h := newHarness(t, 4, 0, nil) // children 2, with 3 below, and 1
	h.root(OK)
	h.childReplies(1, ours)
	h.step(Input{Kind: InReply, Child: 1})
	h.childReplies(2, ours, Missing{3, EIO, Node}, Missing{2, EIO, Subtree})
	h.step(Input{Kind: InReply, Child: 0})
	h.want("post")
	if e := h.find(CallPostReply); e.Missing.End-e.Missing.Begin != 2 {
		t.Errorf("missing %v", h.out.Missing)
	}
}

// TestSixtyFourParts: SC-54: the last place among the parts of a reply is kept
// for the last part.
func TestSixtyFourParts(t *testing.T) {
	h := newHarness(t, 2, 1, nil)
	h.running(nil)
	h.step(Input{Kind: InPostReply})
	for range maxParts - 1 {
		h.step(Input{Kind: Answer})
		h.want("reply")
	}
	h.step(Input{Kind: Answer})
	h.want("")
	h.step(Input{Kind: Answer, Final: true})
	h.want("reply")
	if r := h.parse(h.find(DoReply)); r.Part != maxParts-1 || r.Flags&ReplyLast == 0 {
		t.Errorf("the last part: %+v", r)
	}
}
