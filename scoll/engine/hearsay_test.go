package engine

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/wire"
)

// from delivers a request over the group from a member, after change has altered its header.
func (h *harness) from(rank int, change func(*wire.RequestHeader)) {
	h.t.Helper()
	header := h.header()
	change(&header)
	h.deliver(rank, header, header.Flags&wire.FlagOOB == 0, "payload")
}

// forged changes a request so that member 5 is the parent of member 7 in its tree: a K-ary tree with
// member 4 as its root.
func forged(r *wire.RequestHeader) { r.Tree, r.Root = wire.Tree{Type: wire.KAry, K: 2}, 4 }

// honest delivers the next broadcasts of two roots to member 7 from member 6, its parent in both trees, and
// fails the test unless both are accepted.
func (h *harness) honest(sequence uint64, what string) {
	h.t.Helper()
	for _, root := range []uint32{0, 4} {
		h.id = 0
		h.from(6, func(r *wire.RequestHeader) { r.Sequence, r.First, r.Root = sequence, sequence, root })
		if len(h.effects) == 0 || h.effects[len(h.effects)-1].Kind != CallPreRequest {
			h.t.Fatalf("after %s a request of root %d is refused: %v", what, root, h.effects)
		}
		h.step(Input{Kind: InPreRequest})
		h.step(Input{Kind: InIncoming})
		h.leave()
	}
}

// reboot restarts the machine, without any state.
func (h *harness) reboot() {
	h.t.Helper()
	cfg := h.m.cfg
	cfg.Incarnation++
	h.m, h.id = New(cfg), 0
	h.step(Input{Kind: Register, Service: testService, OOB: true})
}

// TestForgedIncarnation: another member forges in a request an incarnation of the root, or of
// the group's creator. The victim still accepts requests of these two nodes, whether or not
// it knows them, and also after its own restart.
func TestForgedIncarnation(t *testing.T) {
	spec.Covers(t, "SC-164")
	near := uint64(IncarnationSlack) // close to the highest incarnation that is not refused at once
	for _, incarnation := range []uint64{0, 8, near, math.MaxUint64 - 1, math.MaxUint64} {
		for name, forge := range map[string]func(*wire.RequestHeader){
			"the root":    func(r *wire.RequestHeader) { r.RootIncarnation = incarnation },
			"the creator": func(r *wire.RequestHeader) { r.Group.Incarnation = incarnation },
			"both":        func(r *wire.RequestHeader) { r.RootIncarnation, r.Group.Incarnation = incarnation, incarnation },
		} {
			for _, known := range []bool{false, true} {
				h := newHarness(t, 8, 7, nil)
				what := fmt.Sprintf("incarnation %d of %s, known %v", incarnation, name, known)
				if known {
					h.honest(1, "nothing")
				}
				for sequence := uint64(1); sequence < 4; sequence++ {
					h.id = 0
					h.from(5, func(r *wire.RequestHeader) {
						forged(r)
						r.Sequence = sequence
						forge(r)
					})
				}
				ahead := h.m.Stats().Ahead
				if (incarnation > near) != (ahead == 3) || incarnation > near && h.refusal().Status != wire.EAHEAD {
					t.Errorf("%s: %d are refused as ahead, %v", what, ahead, h.effects)
				}
				h.honest(2, what)
				h.reboot()
				h.honest(3, what+", and a restart")
			}
		}
	}
}

// TestHearsayEndsNothing: if another node's request names a later incarnation of a node, this
// counts for that request alone. The groups of earlier incarnations stay until the node itself
// confirms the later one.
func TestHearsayEndsNothing(t *testing.T) {
	spec.Covers(t, "SC-164")
	for _, test := range []struct {
		name   string
		says   uint64
		groups int
	}{{"it is so", 8, 1}, {"it is not", 7, 2}, {"it is far ahead", math.MaxUint64, 2}} {
		h := newHarness(t, 8, 7, nil)
		h.honest(1, "nothing")
		h.from(5, func(r *wire.RequestHeader) {
			forged(r)
			r.Group.Incarnation = 8
		})
		h.want("pre")
		if len(h.m.Groups()) != 2 {
			t.Fatalf("%s: hearsay has ended a group", test.name)
		}
		h.asked(askSpread)
		question := slices.Clone(h.effects)
		h.step(Input{Kind: Arrival, From: h.members.NID(3), Data: (&wire.Identity{Nonce: 1, Incarnation: 8, Kind: wire.Tell}).AppendTo(nil)})
		h.step(Input{Kind: Arrival, From: h.members.NID(0), Data: (&wire.Identity{Nonce: 1, Incarnation: 9, Kind: wire.Tell}).AppendTo(nil)})
		if len(h.m.Groups()) != 2 || h.m.Stats().Stray != 2 {
			t.Fatalf("%s: an answer to no question counts: %+v", test.name, h.m.Stats())
		}
		h.effects, h.out.Buf = question, (&wire.Identity{Nonce: h.m.incarnations.asked[0].nonce, Kind: wire.Ask}).AppendTo(h.out.Buf[:0])
		h.confirms(0, test.says)
		if n := len(h.m.Groups()); n != test.groups {
			t.Errorf("%s: %d groups, want %d", test.name, n, test.groups)
		}
	}
	h := newHarness(t, 8, 7, nil)
	h.honest(1, "nothing")
	for rank := range 7 { // answers to questions that this node did not send
		answer := wire.Identity{Nonce: uint64(rank), Incarnation: math.MaxUint64, Kind: wire.Tell}
		h.step(Input{Kind: Arrival, From: h.members.NID(rank), Data: answer.AppendTo(nil)})
	}
	if s := h.m.Stats(); s.Stray != 7 {
		t.Errorf("%+v", s)
	}
	h.honest(2, "answers to no question")
}

// asked lets time pass until this node asks another node for its incarnation, and fails the test if that
// takes longer than within.
func (h *harness) asked(within time.Duration) {
	h.t.Helper()
	for until, before := h.now+within, h.m.Stats().Asked; h.m.Stats().Asked == before; {
		if h.wake > until {
			h.t.Fatal("no node is asked")
		}
		h.advance()
	}
}

// TestStolenNID: another node used the root's NID for a while, with an incarnation that the
// clock allows. That keeps the root out for only one round trip, in which the member asks the
// root.
func TestStolenNID(t *testing.T) {
	h := newHarness(t, 8, 4, nil)
	h.admitted(func(r *wire.RequestHeader) { r.RootIncarnation, r.Group.Incarnation = 1<<40, 1<<40 })
	h.want("pre")
	h.id = 0
	h.admitted(nil)
	if h.refusal().Status != wire.EREBOOT {
		t.Fatalf("refused with %v", h.refusal())
	}
	h.confirms(0, 7)
	h.admitted(func(r *wire.RequestHeader) { r.Sequence, r.First = 2, 2 })
	h.want("pre")
}

// TestQuestions: this node asks each node at most once at a time, few nodes in all, and again
// if no answer has come.
func TestQuestions(t *testing.T) {
	h := newHarness(t, 8, 7, nil)
	asks := func(incarnation uint64) bool {
		h.id = 0
		before := h.m.Stats().Asked
		h.from(5, func(r *wire.RequestHeader) {
			forged(r)
			r.Group.Incarnation = incarnation
		})
		return h.m.Stats().Asked > before
	}
	asks(8)
	if len(h.m.incarnations.asked) != 0 {
		t.Error("asked though no earlier one is known")
	}
	if asks(9) || asks(10) || len(h.m.incarnations.asked) != 1 {
		t.Errorf("asked at once, or twice: %+v", h.m.incarnations.asked)
	}
	h.asked(askSpread)
	if asks(11); len(h.m.incarnations.asked) != 1 {
		t.Errorf("asked again while it may answer: %+v", h.m.incarnations.asked)
	}
	h.now += askAgain
	asks(20)
	h.asked(askSpread) // this question gets no answer
	for id := range uint32(2 * maxAsked) {
		h.m.out, h.m.now = &h.out, h.now
		h.m.inquire(testTargets(int(id)+9, 1)[id+8].NID)
	}
	if n := len(h.m.incarnations.asked); n != maxAsked {
		t.Errorf("%d questions at a time", n)
	}
	question := wire.Identity{Nonce: 9, Incarnation: math.MaxUint64, Kind: wire.Ask}
	h.step(Input{Kind: Arrival, From: h.members.NID(3), Data: question.AppendTo(nil)})
	e := h.find(DoTell)
	answer, err := wire.ParseIdentity(h.out.Buf[e.Data.Begin:e.Data.End])
	if want := (wire.Identity{Nonce: 9, Incarnation: 5, Kind: wire.Tell}); err != nil || answer != want || e.To != h.members.NID(3) {
		t.Errorf("%+v to %v, %v", answer, e.To, err)
	}
}

// TestOwnGroupForged: a forged group with this node as its creator is refused. It does not use
// up one of the numbers that this node gives to its groups.
func TestOwnGroupForged(t *testing.T) {
	h := newHarness(t, 8, 7, nil)
	h.from(5, func(r *wire.RequestHeader) {
		forged(r)
		r.Group.Creator, r.Group.Incarnation = h.members.NID(7), 5
	})
	if h.want("refuse"); h.refusal().Status != wire.ENOGROUP {
		t.Errorf("%v", h.refusal())
	}
	h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: h.members}})
	h.want("created")
}

// extremes calls put with copies of a message in which a field has extreme values. The field
// has size bytes and begins at offset at.
func extremes(b []byte, at, size int, put func([]byte)) {
	for _, value := range []uint64{0, 1, math.MaxUint64, math.MaxUint64 - 1, math.MaxUint64 >> 1, 1 << 63} {
		changed := append([]byte(nil), b...)
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], value)
		if value == 1<<63 || value == math.MaxUint64>>1 { // shifted to the width of the field: its highest bit alone, or all bits below that one
			binary.LittleEndian.PutUint64(word[:], value>>(64-8*min(size, 8)))
		}
		copy(changed[at:at+size], word[:])
		put(changed)
	}
}

// TestExtremeRequests: a member forges a request in the name of other nodes, with any value
// in any field. The victim still accepts the genuine requests of these nodes, also after its
// own restart.
func TestExtremeRequests(t *testing.T) {
	spec.Covers(t, "SC-164")
	fields := map[string][2]int{
		"magic": {0, 4}, "version": {4, 2}, "size": {6, 2}, "reply bits": {8, 8}, "sequence": {16, 8}, "root incarnation": {24, 8},
		"service": {32, 4}, "flags": {36, 4}, "creator": {40, 8}, "group incarnation": {60, 8}, "index": {68, 8}, "digest": {76, 8},
		"tree": {92, 1}, "K": {96, 4}, "nodes": {100, 4}, "root": {104, 4}, "RTT": {108, 4}, "guard": {112, 4}, "bulk time": {116, 4},
		"processing": {120, 4}, "first": {124, 8}, "live": {132, 8}, "bulk bits": {148, 8}, "bulk length": {156, 8},
		"list bits": {164, 8}, "list length": {172, 8}, "list size": {180, 4}, "payload size": {184, 4}, "segment": {188, 4},
	}
	for name, field := range fields {
		for _, live := range []bool{false, true} {
			h := newHarness(t, 8, 7, nil)
			h.honest(1, "nothing")
			header := h.header()
			forged(&header)
			header.Sequence, header.First, header.PayloadSize = 1, 1, 7
			if live {
				header.Flags, header.Live = wire.FlagSubset, h.members.Digest()
			}
			extremes(append(header.AppendTo(nil), "payload"...), field[0], field[1], func(b []byte) {
				for range 2 {
					h.id = 0
					h.step(Input{Kind: Arrival, From: h.members.NID(5), Data: b})
					binary.LittleEndian.PutUint64(b[16:], binary.LittleEndian.Uint64(b[16:])+1)
					binary.LittleEndian.PutUint64(b[124:], binary.LittleEndian.Uint64(b[124:])+1)
				}
				h.honest(2+uint64(h.now/time.Second), name)
				h.now += time.Second
			})
			h.drain()
			h.reboot()
			h.honest(99, name+", and a restart")
		}
	}
}

// drain lets time pass until all requests have ended, and makes all callbacks return.
func (h *harness) drain() {
	h.t.Helper()
	for rounds := 0; h.m.requests.active > 0; rounds++ {
		if rounds > 1000 {
			h.t.Fatalf("%d requests never end", h.m.requests.active)
		}
		if len(h.m.requests.heap) > 0 {
			h.now = max(h.now, h.m.requests.heap[0].at)
			h.step(Input{})
		}
		for _, id := range active(h.m) {
			for _, kind := range []InputKind{InPreRequest, InIncoming, InFetched, InPostReply, InWithdrawn, InReplyOut} {
				h.step(Input{Kind: kind, ID: id, Status: wire.ETIMEDOUT})
			}
			h.step(Input{Kind: InSent, ID: id, Child: Upward})
			for r := h.m.requests.get(id); r != nil && r.id == id && r.calls > 0; {
				h.step(Input{Kind: InReply, ID: id})
			}
		}
	}
}

// TestExtremeReplies: whatever value a child sends in a field of a reply, the request ends with the other
// child's answer, and the next request succeeds.
func TestExtremeReplies(t *testing.T) {
	fields := map[string][2]int{
		"magic": {0, 4}, "version": {4, 2}, "size": {6, 2}, "root incarnation": {8, 8}, "sequence": {16, 8}, "flags": {24, 4},
		"status": {28, 4}, "part": {32, 4}, "payload size": {36, 4}, "trailer": {40, 4}, "nodes": {44, 4}, "entities": {48, 4},
		"rank of an entry": {56, 4}, "status of an entry": {60, 2}, "scope of an entry": {62, 1},
	}
	for name, field := range fields {
		r := wire.ReplyHeader{RootIncarnation: 7, Sequence: 1, Flags: wire.ReplyLast, Trailer: 1}
		message := wire.Missing{Rank: 7, Status: wire.EIO, Scope: wire.Node}.AppendTo(r.AppendTo(nil))
		extremes(message, field[0], field[1], func(b []byte) {
			h := newHarness(t, 8, 4, nil)
			h.running(nil)
			h.step(Input{Kind: Return, From: h.members.NID(6), Bits: h.bits, Data: b[:wire.ReplyHeaderSize], Trailer: b[wire.ReplyHeaderSize:], Length: len(b)})
			for range h.m.requests.get(h.id).calls {
				h.step(Input{Kind: InReply, Child: 0})
			}
			h.childReplies(5, nil)
			h.step(Input{Kind: InReply, Child: 1})
			if got := h.m.requests.get(h.id).children[1].state; got != done {
				t.Fatalf("%s: the other child is not done", name)
			}
			h.drain()
			h.id = 0
			h.admitted(func(r *wire.RequestHeader) { r.Sequence, r.First = 2, 2 })
			h.want("pre")
			h.reboot()
			h.admitted(nil)
			h.want("pre")
		})
	}
}

// TestExtremeWords: a node that is not the parent sends any value in a field of a Progress or
// an Identity. The bulk data of a request arrives all the same.
func TestExtremeWords(t *testing.T) {
	for _, word := range [][]byte{
		(&wire.Progress{ReplyBits: 77, There: 4096}).AppendTo(nil), (&wire.Identity{Nonce: 1, Incarnation: 2, Kind: wire.Tell}).AppendTo(nil), (&wire.Identity{Nonce: 1, Incarnation: 2, Kind: wire.Ask}).AppendTo(nil),
	} {
		for at := 0; at < len(word); at += 4 {
			size := 8
			if at < 8 || at >= 24 {
				size = 4
			}
			extremes(word, at, min(size, len(word)-at), func(b []byte) {
				h := pipelined(t)
				for from := range 8 {
					if from != h.parent() {
						h.step(Input{Kind: Arrival, From: h.members.NID(from), Data: b})
					}
				}
				h.step(Input{Kind: InPreRequest})
				h.want("fetch expose send0")
				h.hear(4, 77, 10_000, wire.OK)
				h.want("more")
				h.reboot()
				h.admitted(nil)
				h.want("pre")
			})
		}
	}
}

// TestForgedSameQuestion: SC-164, SC-A20: a parent that knows a broadcast to the live members forges it, and never
// delivers its bulk data. While a member waits for these, it refuses the genuine one with ESTALE, for which the root tries
// again. It runs a broadcast with another payload, although that has the same numbers.
func TestForgedSameQuestion(t *testing.T) {
	spec.Covers(t, "SC-164", "SC-A20")
	for payload, want := range map[string]string{"known": "refuse", "other": "pre"} {
		h := newHarness(t, 8, 7, nil)
		live := func(from int, payload, want string, change func(*wire.RequestHeader)) {
			r := h.header()
			r.Flags, r.Live = wire.FlagSubset, h.members.Digest()
			change(&r)
			h.id = 0
			h.deliver(from, r, true, payload)
			h.want(want)
		}
		live(5, "known", "pre", func(r *wire.RequestHeader) { forged(r); r.Bulk = wire.RMA{Bits: 99, Length: 100} })
		h.step(Input{Kind: InPreRequest})
		h.want("fetch")
		live(6, payload, want, func(r *wire.RequestHeader) { r.Root = 4 })
		if want == "refuse" && h.refusal().Status != wire.ESTALE {
			t.Errorf("refused with %v", h.refusal().Status)
		}
	}
}

// TestForgedAttempt: SC-A20: one parent forges a broadcast to the live members, with the
// numbers of a genuine one. The genuine one still runs, and without delay.
func TestForgedAttempt(t *testing.T) {
	spec.Covers(t, "SC-164", "SC-A20")
	for _, ended := range []bool{false, true} {
		h := newHarness(t, 8, 7, nil)
		live := func(from int, payload string, change func(*wire.RequestHeader)) {
			r := h.header()
			r.Flags, r.Live = wire.FlagSubset, h.members.Digest()
			change(&r)
			h.id = 0
			h.deliver(from, r, true, payload)
			h.want("pre")
		}
		live(5, "forged", forged)
		if ended {
			h.step(Input{Kind: InPreRequest})
			h.step(Input{Kind: InIncoming, Status: wire.EIO})
		}
		live(6, "true", func(r *wire.RequestHeader) { r.Root = 4 })
		if h.find(CallPreRequest).Again {
			t.Error("the service is told that it has run this")
		}
		h.step(Input{Kind: InPreRequest})
		h.want("incoming post")
	}
}
