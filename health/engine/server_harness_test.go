package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

var testClient = wire.ClientID{0: 0xC1, 15: 0x01}

var (
	me     = nid.MustParse("10.0.0.1@tcp")
	otherA = nid.MustParse("10.0.0.2@tcp")
	otherB = nid.MustParse("10.0.0.3@tcp")
	gone   = nid.MustParse("10.0.0.4@tcp") // a server that is dead in all tests
	host   = nid.ProcessID{NID: nid.MustParse("10.1.0.1@tcp"), PID: nid.LustrePID}
)

// harness is one server. Its methods deliver messages to the server, and compare its effects,
// written as words.
type harness struct {
	t        *testing.T
	s        *Server
	now      time.Duration
	wake     time.Duration
	out      ServerOutput
	effects  []ServerEffect // effects of the latest step
	hold     bool           // the harness does not answer DoSave; the test can do so
	slowLook bool           // the harness does not answer DoLook; the test can do so
	mute     bool           // the other servers do not answer when they are asked for tombstones
	batch    uint64         // the id of the latest broadcast
}

// newHarness returns a server that has a quorum, with two live servers and a dead one beside
// it.
func newHarness(t *testing.T, change func(*ServerConfig)) *harness {
	t.Helper()
	cfg := ServerConfig{Self: me, Incarnation: 77, Servers: []nid.NID{me, otherA, otherB, gone}, Uneven: true}
	if change != nil {
		change(&cfg)
	}
	s, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{t: t, s: s, now: time.Hour}
	for _, id := range []nid.NID{otherA, otherB} {
		h.step(ServerInput{Kind: ServerHealth, Server: id, Alive: true})
	}
	h.step(ServerInput{Kind: ServerHealth, Server: gone})
	s.members.moved = 0 // discovery reported all of this long ago
	h.step(ServerInput{Kind: QuorumIs, Alive: true})
	return h
}

// step steps the server with an input, and again with the answers to the effects of that step: each
// record is durable at once, and the transport has received nothing from a node.
func (h *harness) step(in ServerInput) {
	h.t.Helper()
	h.effects = nil
	h.one(in)
	for k := 0; k < len(h.effects); k++ {
		if e := h.effects[k]; e.Kind == DoSave && e.ID != 0 && !h.hold {
			h.one(ServerInput{Kind: Saved, ID: e.ID})
		} else if e.Kind == DoLook && !h.slowLook {
			h.one(ServerInput{Kind: Seen, Client: e.Client, Failed: true})
		}
	}
	h.answerTombstones()
}

func (h *harness) one(in ServerInput) {
	h.t.Helper()
	h.out.Reset()
	h.wake = h.s.Step(h.now, in, &h.out)
	for _, e := range h.out.Effects {
		data := slices.Clone(h.out.Data(&e))
		e.Token = data
		h.effects = append(h.effects, e)
		if e.Kind == DoBroadcast {
			h.batch = e.ID
		}
	}
	if err := h.s.invariants(); err != nil {
		h.t.Fatal(err)
	}
	if h.wake <= h.now {
		h.t.Fatalf("wake %v at %v", h.wake, h.now)
	}
}

// message delivers a message to the server. If the message is about a client and names none, it is
// about the test's client.
func (h *harness) message(from nid.ProcessID, m wire.Message) {
	h.t.Helper()
	if !m.Client.IsValid() && !m.Kind.BetweenServers() {
		m.Client = testClient
	}
	h.step(ServerInput{Kind: Arrived, From: from, Data: m.AppendTo(nil)})
}

// answerTombstones answers every question for tombstones with an empty list, and removes these
// questions from the effects that the test sees.
func (h *harness) answerTombstones() {
	h.t.Helper()
	if h.mute {
		return
	}
	var kept []ServerEffect
	for _, e := range h.effects {
		if m, err := wire.ParseMessage(e.Token.([]byte)); e.Kind == DoSend && err == nil && m.Kind == wire.Tombstones {
			a := wire.Message{Kind: wire.TombstonesReply, Sequence: m.Sequence, Epoch: 1}
			h.one(ServerInput{Kind: Arrived, From: e.To, Data: a.AppendTo(nil)})
		} else {
			kept = append(kept, e)
		}
	}
	h.effects = kept
}

// connect delivers a connect of the test's client.
func (h *harness) connect(incarnation uint64, master nid.NID, epoch uint32) {
	h.t.Helper()
	h.message(host, wire.Message{Kind: wire.Connect, Incarnation: incarnation, Server: master, Epoch: epoch, Sequence: 9, Name: []byte("host")})
}

// word describes an effect in one or two words.
func word(h *harness, e *ServerEffect) string {
	switch e.Kind {
	case DoSend:
		m, err := wire.ParseMessage(e.Token.([]byte))
		if err != nil {
			h.t.Fatal(err)
		}
		s := m.Kind.String()
		if m.Code != wire.OK {
			s += ":" + m.Code.String()
		}
		if (m.Kind == wire.Accept || m.Code == wire.OtherMaster) && m.Server.IsValid() {
			s += "(" + m.Server.String() + ")"
		}
		return s
	case DoSave:
		return "save"
	case DoRemove:
		if e.For > 0 {
			return "bury"
		}
		if e.For < 0 {
			return "unbury"
		}
		return "remove"
	case DoBroadcast:
		r, err := wire.ParseBatch(e.Token.([]byte))
		if err != nil {
			h.t.Fatal(err)
		}
		return fmt.Sprintf("broadcast%d", r.Entries.Len())
	case DoAnswer:
		return "answer"
	case DoLook:
		return "look"
	case DoTell:
		s := e.Event.Kind.String()
		if e.Event.Kind == ClientEvicted {
			s += ":" + e.Event.Cause.String()
		}
		return s
	case DoResult:
		return "result:" + e.Code.String()
	}
	return "?"
}

func (h *harness) words() string {
	h.t.Helper()
	var got []string
	for i := range h.effects {
		got = append(got, word(h, &h.effects[i]))
	}
	return strings.Join(got, " ")
}

// want compares the effects of the latest step with the expected ones, both as words.
func (h *harness) want(words string) {
	h.t.Helper()
	if s := h.words(); s != words {
		h.t.Fatalf("got %q, want %q", s, words)
	}
}

// last returns the latest message of a kind that was sent.
func (h *harness) last(k wire.Kind) wire.Message {
	h.t.Helper()
	for _, e := range slices.Backward(h.effects) {
		if e.Kind == DoSend {
			if m, _ := wire.ParseMessage(e.Token.([]byte)); m.Kind == k {
				return m
			}
		}
	}
	h.t.Fatalf("no %v in %q", k, h.words())
	return wire.Message{}
}

// state returns the state of the connection of the test's client.
func (h *harness) state() string {
	info, ok := h.s.Client(testClient)
	if !ok {
		return "none"
	}
	return fmt.Sprintf("%s %d %v/%d", info.State, info.Incarnation, info.Master, info.Epoch)
}

func (h *harness) wantState(want string) {
	h.t.Helper()
	if got := h.state(); got != want {
		h.t.Fatalf("the client is %q, want %q", got, want)
	}
}

// advance lets time pass, stepping the machine whenever it wants to be woken, and collects the
// effects.
func (h *harness) advance(d time.Duration) {
	h.t.Helper()
	var all []ServerEffect
	for end, n := h.now+d, 0; ; n++ {
		if n > 100_000 {
			h.t.Fatalf("the machine is stepped over and over at %v", h.now)
		}
		next := min(end, h.wake)
		if h.wake == machine.Never {
			next = end
		}
		h.now = next
		h.step(ServerInput{})
		all = append(all, h.effects...)
		if next == end {
			break
		}
	}
	h.effects = all
}

// done delivers the result of the latest broadcast.
func (h *harness) done(r wire.Reply, missing ...nid.NID) {
	h.t.Helper()
	h.step(ServerInput{Kind: BroadcastDone, ID: h.batch, Servers: missing, Data: r.AppendTo(nil)})
}

func entries(list ...wire.Entry) (b wire.Entries) {
	for _, e := range list {
		b = e.AppendTo(b)
	}
	return b
}

// evicted delivers a broadcast by which another server, with the NID from, evicts an incarnation of
// the test's client. It returns the answer of the server under test.
func (h *harness) evicted(from nid.NID, incarnation uint64) wire.Reply {
	h.t.Helper()
	return h.wanted(from, wire.Batch{Entries: entries(wire.Entry{Client: testClient, Incarnation: incarnation})})
}

// wanted delivers batch b as a broadcast of another server, with the NID from, and returns the
// answer of the server under test.
func (h *harness) wanted(from nid.NID, b wire.Batch) wire.Reply {
	h.t.Helper()
	h.step(ServerInput{Kind: EvictArrived, Server: from, Data: b.AppendTo(nil)})
	for _, e := range h.effects {
		if e.Kind == DoAnswer {
			r, err := wire.ParseReply(e.Token.([]byte))
			if err != nil {
				h.t.Fatal(err)
			}
			return r
		}
	}
	h.t.Fatal("no answer")
	return wire.Reply{}
}
