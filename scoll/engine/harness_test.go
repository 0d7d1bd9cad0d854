package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

var effectNames = [...]string{
	DoSend: "send", DoReply: "reply", DoRefuse: "refuse", DoUnpost: "unpost", DoRepost: "repost", DoExpose: "expose", DoFetch: "fetch",
	DoStop: "stop", DoFetchMore: "more", DoTell: "tell", DoWithdraw: "withdraw", DoFree: "free", Began: "began", Refused: "refused", Created: "created",
	CallPreRequest: "pre", CallIncoming: "incoming", CallReply: "child", CallPostReply: "post", CallReplyOut: "out", CallMap: "map",
	WarnAhead: "ahead",
}

// harness steps one machine. Its methods deliver messages, and compare effects as words.
type harness struct {
	t       *testing.T
	m       *Machine
	members *wire.Membership
	rank    int
	now     time.Duration
	wake    time.Duration
	out     Output
	effects []Effect // effects of the latest step
	group   wire.GroupID
	id      RequestID // id of the latest request
	bits    uint64    // match bits for the replies of the request's children
	words   uint64    // the number of Hold messages delivered so far
	many    bool      // there are many requests, and checking all of them in each step takes too long
}

const (
	testRTT   = 10 * time.Millisecond
	testGuard = 4 * time.Millisecond
)

// newHarness returns the machine of the member with a rank, in a group of n that member 0
// created, with a binomial tree.
func newHarness(t *testing.T, n, rank int, change func(*Config)) *harness {
	t.Helper()
	members, err := wire.NewMembership(testTargets(n, 2))
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Self: members.NID(rank), Incarnation: 5, RTT: testRTT, Guard: testGuard}
	if change != nil {
		change(&cfg)
	}
	h := &harness{t: t, m: New(cfg), members: members, rank: rank, now: time.Second}
	h.group = wire.GroupID{Creator: members.NID(0), Incarnation: 7, Index: 1, Digest: members.Digest()}
	h.step(Input{Kind: Register, Service: testService, OOB: true})
	return h
}

func (h *harness) step(in Input) {
	h.t.Helper()
	if in.ID == 0 {
		in.ID = h.id
	}
	h.out.Reset()
	h.wake = h.m.Step(h.now, in, &h.out)
	h.effects = slices.Clone(h.out.Effects)
	if !h.many {
		if err := h.m.invariants(); err != nil {
			h.t.Fatal(err)
		}
	}
	if h.wake <= h.now {
		h.t.Fatalf("wake %v at %v", h.wake, h.now)
	}
	for _, e := range h.effects {
		switch e.Kind {
		case CallPreRequest, Began, CallMap, DoFetch:
			h.id = e.ID
		case DoSend:
			h.id, h.bits = e.ID, e.Bits
		}
	}
}

// want compares the effects of the latest step, as words.
func (h *harness) want(words string) {
	h.t.Helper()
	var got []string
	for _, e := range h.effects {
		word := effectNames[e.Kind]
		switch e.Kind {
		case DoSend, CallReply, DoUnpost, DoTell:
			word = fmt.Sprint(word, e.Child)
		}
		if e.Status != wire.OK {
			word += ":" + e.Status.String()
		}
		got = append(got, word)
	}
	if s := strings.Join(got, " "); s != words {
		h.t.Fatalf("got %q, want %q", s, words)
	}
}

// find returns the first effect of a kind in the latest step.
func (h *harness) find(k EffectKind) Effect {
	h.t.Helper()
	i := slices.IndexFunc(h.effects, func(e Effect) bool { return e.Kind == k })
	if i < 0 {
		h.t.Fatalf("no effect %q", effectNames[k])
	}
	return h.effects[i]
}

// header returns the header of a broadcast of member 0 to all members.
func (h *harness) header() wire.RequestHeader {
	return wire.RequestHeader{
		ReplyBits: 77, Sequence: 1, RootIncarnation: 7, Service: testService, Group: h.group, Tree: wire.Tree{Type: wire.KNomial, K: 2},
		Nodes: uint32(h.members.Len()), RTT: testRTT, Guard: testGuard, First: 1,
	}
}

// deliver delivers a request from a member. With list, the message contains the list of members.
func (h *harness) deliver(from int, header wire.RequestHeader, list bool, payload string) {
	h.t.Helper()
	var body []byte
	if list {
		body = h.members.AppendTo(body)
		header.Flags |= wire.FlagList
		header.ListSize = uint32(len(body))
	}
	header.PayloadSize = uint32(len(payload))
	message := append(append(header.AppendTo(nil), body...), payload...)
	h.step(Input{Kind: Arrival, From: h.members.NID(from), Data: message})
}

// parent returns the rank of the parent in the tree of member 0.
func (h *harness) parent() int { return h.rank & (h.rank - 1) }

// admitted delivers a valid request, for which the machine then calls pre-request.
func (h *harness) admitted(change func(*wire.RequestHeader)) {
	h.t.Helper()
	header := h.header()
	if change != nil {
		change(&header)
	}
	h.deliver(h.parent(), header, header.List == wire.RMA{} && header.Flags&wire.FlagOOB == 0, "payload")
}

// running delivers a request and lets pre-request and incoming-request return.
func (h *harness) running(change func(*wire.RequestHeader)) {
	h.t.Helper()
	h.admitted(change)
	h.want("pre")
	h.step(Input{Kind: InPreRequest})
	h.step(Input{Kind: InIncoming})
}

// refusal returns the reply of a DoRefuse effect.
func (h *harness) refusal() wire.ReplyHeader {
	h.t.Helper()
	e := h.find(DoRefuse)
	return h.parse(e)
}

func (h *harness) parse(e Effect) wire.ReplyHeader {
	h.t.Helper()
	r, _, err := wire.ParseReplyHeader(h.out.Buf[e.Data.Begin:e.Data.End])
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// trailer returns the trailer of the reply that the latest step sends.
func (h *harness) trailer() (list []wire.Missing) {
	h.t.Helper()
	e := h.find(DoReply)
	for b := h.out.Buf[e.Trailer.Begin:e.Trailer.End]; len(b) > 0; {
		var m wire.Missing
		var err error
		if m, b, err = wire.ParseMissing(b); err != nil {
			h.t.Fatal(err)
		}
		list = append(list, m)
	}
	if int(h.parse(e).Trailer) != len(list) {
		h.t.Fatalf("%d entries, header %+v", len(list), h.parse(e))
	}
	return list
}

// childReplies delivers a child's reply.
func (h *harness) childReplies(rank int, change func(*wire.ReplyHeader, *Input), missing ...wire.Missing) {
	h.t.Helper()
	r := wire.ReplyHeader{RootIncarnation: 7, Sequence: 1, Flags: wire.ReplyLast, PayloadSize: 4, Trailer: uint32(len(missing))}
	in := Input{Kind: Return, From: h.members.NID(rank), Bits: h.bits, Length: wire.ReplyHeaderSize + 4}
	for _, e := range missing {
		in.Trailer = e.AppendTo(in.Trailer)
	}
	in.Length += len(in.Trailer)
	if change != nil {
		change(&r, &in)
	}
	in.Data = r.AppendTo(nil)
	h.step(in)
}

// advance lets time pass until the machine's next timer, if it has one.
func (h *harness) advance() {
	h.t.Helper()
	if h.wake == machine.Never {
		h.t.Fatal("the machine waits for nothing")
	}
	h.now = h.wake
	h.step(Input{})
}

// leave makes the service answer, and ends the request.
func (h *harness) leave() {
	h.t.Helper()
	h.step(Input{Kind: Answer, Final: true, Size: 3})
	h.want("reply")
	h.step(Input{Kind: InPostReply})
	h.step(Input{Kind: InSent, Child: Upward})
	h.want("out")
	h.step(Input{Kind: InReplyOut})
	h.want("free")
}

// one fails the test unless a counter of the machine is 1; name is for the error.
func (h *harness) one(name string, counter uint64) {
	h.t.Helper()
	if counter != 1 {
		h.t.Errorf("%s is %d in %+v", name, counter, h.m.Stats())
	}
}

func testTargets(n, tags int) []wire.Target {
	targets := make([]wire.Target, n)
	for i := range targets {
		targets[i].NID = nid.FromNumber(nid.MakeNet(nid.GNI, 0), uint32(i+1))
		for tag := range tags {
			targets[i].Entities = append(targets[i].Entities, wire.Entity{byte(i), byte(i >> 8), byte(tag)})
		}
	}
	return targets
}
