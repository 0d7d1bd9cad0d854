package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
)

// nodeSends makes the transport report that it has just received a message from the client's
// node.
func (h *harness) nodeSends() {
	h.t.Helper()
	h.step(ServerInput{Kind: Seen, Client: testClient, At: h.now})
}

// busyFor lets time pass while the client's node sends other messages. It calls asked for each
// Ask to the client.
func (h *harness) busyFor(d time.Duration, asked func(wire.Message)) (effects []ServerEffect) {
	h.t.Helper()
	for end := h.now + d; h.now < end; {
		h.advance(min(h.wake, end) - h.now)
		var questions []wire.Message
		look := false
		for _, e := range h.effects {
			switch m, _ := wire.ParseMessage(tokenOf(&e)); {
			case e.Kind == DoLook:
				look = true
			case e.Kind == DoSend && m.Kind == wire.Ask:
				questions = append(questions, m)
			}
			effects = append(effects, e)
		}
		if look {
			h.nodeSends()
		}
		for _, m := range questions {
			asked(m)
		}
		effects = append(effects, h.effects...)
	}
	return effects
}

func tokenOf(e *ServerEffect) []byte {
	b, _ := e.Token.([]byte)
	return b
}

// TestNodeOutlivesClient: CH-8: a client that died is evicted although its node goes on sending
// other messages. When the client's own last message is T_evict old, the server asks the client,
// which has another T_evict to answer.
func TestNodeOutlivesClient(t *testing.T) {
	spec.Covers(t, "CH-8")
	h := newHarness(t, nil)
	evict, tick := h.s.cfg.Evict, h.s.cfg.Tick
	h.connect(5, me, 1)
	began, first, asks := h.now, time.Duration(0), 0
	h.busyFor(evict+2*tick, func(m wire.Message) {
		if asks++; first == 0 {
			first = h.now
		}
		if m.Client != testClient || m.Incarnation != 5 || m.Epoch != 1 || m.ServerIncarnation != 77 {
			t.Errorf("asked with %+v", m)
		}
	})
	if asks == 0 || first-began < evict || first-began > evict+2*tick {
		t.Fatalf("asked %d times, first after %v", asks, first-began)
	}
	h.wantState("connected 5 10.0.0.1@tcp/1")
	h.busyFor(first+evict-h.now-tick, func(wire.Message) { asks++ })
	h.wantState("connected 5 10.0.0.1@tcp/1")
	if asks < 4 {
		t.Errorf("asked %d times in T_evict: one that is lost would end a client", asks)
	}
	h.busyFor(3*tick, func(wire.Message) {})
	h.wantState("evicting 5 10.0.0.1@tcp/1")
	if s := h.s.Stats(); s.Asks != uint64(asks) && s.Asks < 4 {
		t.Errorf("%+v", s)
	}
}

// TestBusyAnswers: CH-8: a busy client, which sends no pings, is asked once per T_evict and
// answers. It stays connected, even if only its last answer arrives.
func TestBusyAnswers(t *testing.T) {
	spec.Covers(t, "CH-8")
	for _, deaf := range []bool{false, true} {
		h := newHarness(t, nil)
		evict := h.s.cfg.Evict
		h.connect(5, me, 1)
		var first time.Duration
		h.busyFor(20*evict, func(m wire.Message) {
			if first == 0 {
				first = h.now
			}
			if deaf && h.now-first < evict-h.s.cfg.Ping {
				return
			}
			first = 0
			h.message(host, wire.Message{Kind: wire.Here, Incarnation: m.Incarnation, Epoch: m.Epoch, Sequence: m.Sequence})
		})
		h.wantState("connected 5 10.0.0.1@tcp/1")
		if s := h.s.Stats(); !deaf && (s.Asks < 15 || s.Asks > 20) || s.Evictions != 0 {
			t.Errorf("deaf %v: asked %d times in 20·T_evict, %d evictions", deaf, s.Asks, s.Evictions)
		}
	}
}

// TestNotThere: CH-8: a client is evicted at once if its process answers that the incarnation
// has ended. The answer of another process has no effect.
func TestNotThere(t *testing.T) {
	spec.Covers(t, "CH-8")
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	no := wire.Message{Kind: wire.Here, Code: wire.NotConnected, Incarnation: 5, Epoch: 1}
	stranger := host
	stranger.PID++
	h.message(stranger, no)
	h.wantState("connected 5 10.0.0.1@tcp/1")
	h.message(host, wire.Message{Kind: wire.Here, Code: wire.NotConnected, Incarnation: 4, Epoch: 1})
	h.wantState("connected 5 10.0.0.1@tcp/1")
	h.message(host, no)
	h.wantState("evicting 5 10.0.0.1@tcp/1")
}

// TestIncarnationOfTraffic: CH-8: the server asks the transport for messages of the NI
// incarnation that sent the client's last message. If the node has restarted since, its messages
// do not prove that the client is alive.
func TestIncarnationOfTraffic(t *testing.T) {
	spec.Covers(t, "CH-8")
	h := newHarness(t, nil)
	arrive := func(incarnation uint64, m wire.Message) {
		m.Client = testClient
		h.step(ServerInput{Kind: Arrived, From: host, PeerIncarnation: incarnation, Data: m.AppendTo(nil)})
	}
	arrive(900, wire.Message{Kind: wire.Connect, Incarnation: 5, Server: me, Epoch: 1})
	looks := func() uint64 {
		t.Helper()
		for {
			h.advance(h.wake - h.now)
			for _, e := range h.effects {
				if e.Kind == DoLook {
					return e.Incarnation
				}
			}
		}
	}
	if incarnation := looks(); incarnation != 900 {
		t.Errorf("looks for life %d of the NI, want that of the connect", incarnation)
	}
	arrive(901, wire.Message{Kind: wire.Ping, Incarnation: 5, Epoch: 1})
	if incarnation := looks(); incarnation != 901 {
		t.Errorf("looks for life %d of the NI, want that of the latest ping", incarnation)
	}
}
