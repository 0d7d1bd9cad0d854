package engine

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// toldTimes adds the times of a client to a message, as Connect and Choose have them.
func toldTimes(m wire.Message, ping, found time.Duration) wire.Message {
	m.Retry, m.ServerIncarnation = ping, uint64(found/time.Millisecond)
	return m
}

// TestTooSlowIsRefused: CH-57, CH-A3, CH-A4: a server compares the times in a client's message
// with its own T_evict and RTT, to the millisecond, and answers with its T_evict. A client that
// sends no times is of an older version: it is accepted, and never refused with other-times.
func TestTooSlowIsRefused(t *testing.T) {
	spec.Covers(t, "CH-57", "CH-A3", "CH-A4")
	const ms, longest = time.Millisecond, math.MaxUint32 * time.Millisecond
	for _, test := range []struct {
		name        string
		ping, found time.Duration
		refused     bool
	}{
		{"its defaults", 5 * time.Second, 12500 * ms, false},
		{"an older version", 0, 0, false},
		{"the life of a server, and no times", 0, longest, false},
		{"three pings and a round trip", 5800 * ms, 0, false},
		{"a millisecond more", 5801 * ms, 0, true},
		{"it finds a master just in time", 5 * time.Second, 12500 * ms, false},
		{"a millisecond later", 5 * time.Second, 12501 * ms, true},
		{"as quick as can be told", ms, 0, false},
		{"an hour", time.Hour, 0, true},
		{"the longest interval", longest, 0, true},
		{"the longest search", ms, longest, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, master := range []nid.NID{me, otherA} {
				h := newHarness(t, nil)
				h.message(host, toldTimes(wire.Message{Kind: wire.Connect, Incarnation: 5, Server: master, Epoch: 1, Sequence: 9}, test.ping, test.found))
				if !test.refused {
					h.want("save connected accept")
					if m := h.last(wire.Accept); m.Retry != 17500*ms {
						t.Errorf("told of %v", m.Retry)
					}
					continue
				}
				h.want("reject:other-times")
				if m := h.last(wire.Reject); m.Epoch != 17500 || m.Retry != h.s.cfg.Evict || m.Sequence != 9 || m.Incarnation != 5 {
					t.Errorf("told %+v", m)
				}
				h.wantState("none")
			}
		})
	}
}

// TestHostileTimes: whatever times a client claims in its connect, the server evicts it when it
// has sent no message for the server's own T_evict. Times that are longer than any real client's
// are reduced to a bound.
func TestHostileTimes(t *testing.T) {
	for _, incarnation := range []uint64{0, 1, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64} {
		h := newHarness(t, nil)
		h.message(host, wire.Message{Kind: wire.Connect, Incarnation: 5, Server: me, Epoch: 1, Retry: time.Millisecond, ServerIncarnation: incarnation})
		if incarnation > 1 {
			h.want("reject:other-times")
			continue
		}
		h.want("save connected accept")
		h.advance(h.s.cfg.Evict + h.s.cfg.Tick)
		h.wantState("evicting 5 10.0.0.1@tcp/1")
	}
	for _, d := range []time.Duration{-1, 0, 1, maxTold, math.MaxInt64} {
		m := wire.Message{Kind: wire.Connect, Client: testClient, Server: me}
		m.Retry, m.ServerIncarnation = (&Timing{Ping: d, Client: d / 2, Elect: d / 2}).told()
		if p, err := wire.ParseMessage(m.AppendTo(nil)); err != nil || p.Retry > maxTold || p.ServerIncarnation > math.MaxUint32 {
			t.Errorf("%v is told as %+v, %v", d, p, err)
		}
	}
}

// TestTooSlowToBeChosen: if the times of a client or of this server have changed so that they no
// longer fit, the client cannot choose this server as its master. With another master it may
// stay connected.
func TestTooSlowToBeChosen(t *testing.T) {
	h := newHarness(t, nil)
	h.connect(5, otherA, 1)
	slow := func(kind wire.Kind, master nid.NID, epoch uint32) {
		h.message(host, toldTimes(wire.Message{Kind: kind, Incarnation: 5, Server: master, Epoch: epoch}, time.Hour, time.Hour))
	}
	slow(wire.Choose, me, 2)
	h.want("chosen:other-times")
	if m := h.last(wire.Chosen); m.Epoch != 17500 {
		t.Errorf("told %+v", m)
	}
	slow(wire.Connect, me, 2)
	h.want("reject:other-times")
	h.wantState("connected 5 10.0.0.2@tcp/1")
	slow(wire.Choose, otherB, 3)
	h.wantState("connected 5 10.0.0.3@tcp/3")
	if m := h.last(wire.Chosen); m.Code != wire.OK || m.Retry != 17500*time.Millisecond {
		t.Errorf("told %+v", m)
	}
	if s := h.s.Stats(); s.Choices[wire.OtherTimes] != 1 || s.Rejected[wire.OtherTimes] != 1 {
		t.Errorf("%+v", s)
	}
}

// TestLeastEvict: a server refuses a client's times if and only if a Timing that has these times and
// the server's Evict and RTT would be invalid.
func TestLeastEvict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := func(name string, most int64) time.Duration {
			return time.Duration(rapid.Int64Range(1, most).Draw(t, name))
		}
		ping := d("ping", 1000)
		times := Timing{Ping: ping, Client: ping + d("client", 4000), Elect: 2 + d("elect", 2000), RTT: d("rtt", 500), Orphan: time.Hour, Try: 1, Tick: 1, Broadcast: 1}
		least := leastEvict(times.Ping, times.Client+times.Elect, times.RTT)
		for _, evict := range []time.Duration{least, least - 1} {
			times.Evict = evict
			if err := times.check(); (err == nil) != (evict >= least) {
				t.Fatalf("%+v: %v, and least is %v", times, err, least)
			}
		}
	})
}

// TestLeavesTooQuickServers: CH-57, CH-A3, CH-A4: a client sends its times, and disconnects from
// a server whose T_evict is too short for it. It reports its own time and the server's. It stays connected to
// a server that sends no T_evict, which is of an older version.
func TestLeavesTooQuickServers(t *testing.T) {
	spec.Covers(t, "CH-57", "CH-A3", "CH-A4")
	h := newClientHarness(t, me, otherA)
	if m := h.sent[0]; m.Kind != wire.Connect || m.Retry != 5*time.Second || m.ServerIncarnation != 12500 {
		t.Fatalf("sent %+v", m)
	}
	first := h.to[0]
	h.answer(0, wire.Message{Kind: wire.Accept, ServerIncarnation: 7, Retry: 17499 * time.Millisecond})
	h.want("", wire.Disconnect, wire.Connect)
	if h.to[0] != first || h.sent[0].Code != wire.NotConnected || h.to[1] == first {
		t.Errorf("sent to %v: %+v", h.to, h.sent)
	}
	h.sent, h.to = h.sent[1:], h.to[1:]
	h.answer(0, wire.Message{Kind: wire.Reject, Code: wire.OtherTimes})
	want := Answer{Server: first, Code: wire.OtherTimes, Evict: 17499 * time.Millisecond, Needs: 17500 * time.Millisecond, Ping: 5 * time.Second}
	if st := h.c.Status(); st.Answers[0] != want {
		t.Errorf("%+v", st.Answers)
	}
	if text := want.String(); !strings.HasSuffix(text, ": other-times (it evicts clients after 17.499s; this one pings every 5s and needs 17.5s)") {
		t.Error(text)
	}
	for _, enough := range []time.Duration{0, 17500 * time.Millisecond, maxTold} {
		h = newClientHarness(t, me)
		h.answer(0, wire.Message{Kind: wire.Accept, ServerIncarnation: 7, Retry: enough})
		h.want("attached master-chosen")
	}
}

// TestLeavesTooQuickLater: if a server's T_evict is too short for a client, the client
// disconnects from it, even if the server is not its master, or has just agreed to be its next
// master.
func TestLeavesTooQuickLater(t *testing.T) {
	h := newClientHarness(t, me, otherA, otherB)
	master := h.settled()
	other := h.other()
	h.step(ClientInput{Kind: Detach, Server: other})
	h.step(ClientInput{Kind: Attach, Server: other})
	h.answer(0, wire.Message{Kind: wire.Accept, Retry: 3500 * time.Millisecond})
	h.want("refused:other-times", wire.Disconnect)
	if e := h.out.Effects[len(h.out.Effects)-1].Event; e.Evict != 3500*time.Millisecond || e.Server != other {
		t.Errorf("%+v", e)
	}
	h.from(master, wire.Message{Kind: wire.Notice, Code: wire.Draining})
	for len(h.sent) == 0 || h.sent[0].Kind == wire.Disconnect { // the client repeats its farewell to the other server until that server answers
		h.now = h.wake
		h.step(ClientInput{})
	}
	third := h.to[0]
	if m := h.sent[0]; m.Kind != wire.Choose || m.Retry != 5*time.Second || m.ServerIncarnation != 12500 {
		t.Fatalf("sent %+v", m)
	}
	h.answer(0, wire.Message{Kind: wire.Chosen, Server: third, Retry: time.Second})
	if h.told != "dropped:other-times" || h.sent[0].Kind != wire.Disconnect || h.to[0] != third || h.c.Status().State != "electing" {
		t.Errorf("told %q, sent %+v", h.told, h.sent)
	}
}
