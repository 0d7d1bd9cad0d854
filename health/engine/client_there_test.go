package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestAnswersItsMaster: CH-8: to a question about its present incarnation, a client answers only its
// own master, in the present epoch. To a question about an earlier incarnation, it answers any server
// that the incarnation has ended.
func TestAnswersItsMaster(t *testing.T) {
	spec.Covers(t, "CH-8")
	h := newClientHarness(t, me, otherA)
	master := h.settled()
	other := me
	if master == me {
		other = otherA
	}
	h.from(other, wire.Message{Kind: wire.Ask, Epoch: h.c.epoch})
	if len(h.sent) != 0 {
		t.Errorf("another server is answered %+v", h.sent)
	}
	h.from(master, wire.Message{Kind: wire.Ask, Epoch: h.c.epoch - 1})
	if len(h.sent) != 0 {
		t.Errorf("a question of an earlier choice is answered %+v", h.sent)
	}
	h.from(master, wire.Message{Kind: wire.Ask, Epoch: h.c.epoch, Incarnation: h.c.incarnation + 1})
	if len(h.sent) != 0 {
		t.Errorf("a question about a later life is answered %+v", h.sent)
	}
	h.from(master, wire.Message{Kind: wire.Ask, Epoch: h.c.epoch, Sequence: 3})
	if m := h.sent[0]; m.Kind != wire.Here || m.Code != wire.OK || m.Incarnation != h.c.incarnation || m.Epoch != h.c.epoch || m.Sequence != 3 {
		t.Errorf("%+v", m)
	}
	h.from(other, wire.Message{Kind: wire.Ask, Epoch: 1, Incarnation: h.c.incarnation - 1})
	if m := h.sent[0]; m.Kind != wire.Here || m.Code != wire.NotConnected || m.Incarnation != h.c.incarnation-1 {
		t.Errorf("of an earlier life: %+v", m)
	}
	if s := h.c.Stats(); s.Answers != 2 {
		t.Errorf("%+v", s)
	}
}

// TestAnswersFormerServers: CH-8, CH-A1: when a server asks a client about an earlier incarnation, the client
// answers that it has ended, even if the present incarnation has no connection to that server. It tells other
// nodes nothing about its incarnations.
func TestAnswersFormerServers(t *testing.T) {
	spec.Covers(t, "CH-8", "CH-A1")
	h := newClientHarness(t, me, otherA, otherB)
	h.answer(0, wire.Message{Kind: wire.Accept, ServerIncarnation: 7}) // of the master
	for _, id := range []nid.NID{me, otherA, otherB, gone} {
		if h.c.known(id) != nil {
			continue
		}
		h.from(id, wire.Message{Kind: wire.Ask, Epoch: 1, Incarnation: h.c.incarnation - 1})
		if told := len(h.sent) == 1 && h.sent[0].Code == wire.NotConnected && h.sent[0].Incarnation == h.c.incarnation-1; told != (id != gone) {
			t.Errorf("%v: %+v", id, h.sent)
		}
		h.from(id, wire.Message{Kind: wire.Ask, Epoch: 1, Incarnation: h.c.incarnation})
		if len(h.sent) != 0 {
			t.Errorf("%v is told about the present incarnation: %+v", id, h.sent)
		}
	}
}

// TestNodeOutlivesMaster: CH-16: a client gives up a master that does not answer although the
// master's node goes on sending other messages. A busy client does not ping its master as long
// as the master asks whether the client is alive.
func TestNodeOutlivesMaster(t *testing.T) {
	spec.Covers(t, "CH-16")
	for _, dead := range []bool{false, true} {
		h := newClientHarness(t, me, otherA)
		master := h.settled()
		began, pings, cfg := h.now, 0, h.c.cfg
		asked := h.now
		for h.now < began+4*cfg.Evict && h.c.phase == settled {
			at := h.now + time.Second
			for h.wake < at && h.c.phase == settled {
				h.now = h.wake
				h.step(ClientInput{})
				h.count(&pings)
			}
			if h.c.phase != settled {
				break
			}
			h.now = at
			h.step(ClientInput{Kind: Traffic, Server: master, Sent: at, Heard: at})
			h.count(&pings)
			if !dead && h.now-asked >= cfg.Evict {
				asked = h.now
				h.from(master, wire.Message{Kind: wire.Ask, Epoch: h.c.epoch})
			}
		}
		took := h.now - began
		switch {
		case !dead && (pings != 0 || took < 4*cfg.Evict):
			t.Errorf("a master that asks: %d pings, given up after %v", pings, took)
		case dead && (pings < 2 || took > cfg.Evict+cfg.Ping+cfg.Client+time.Second):
			t.Errorf("a master that says nothing: %d pings, given up after %v", pings, took)
		}
	}
}

// TestLeavesDeafMaster: CH-16: the client hears its master, which asks again and again whether it is there, and which no
// message of the client reaches, while other programs of the two nodes exchange messages. The client gives such a master
// up long before T_evict is over, also if the times of the server or a long tick make it ask less often than once per T_ping of
// the client, or if another process wants the client's id. A master that has only missed one answer keeps it: it answers the ping.
func TestLeavesDeafMaster(t *testing.T) {
	spec.Covers(t, "CH-16")
	const second = time.Second
	for _, tt := range []struct {
		ping, interval, evict time.Duration
		code                  wire.Code
	}{
		{ping: 5 * second, interval: 2500 * time.Millisecond},
		{ping: second, interval: second}, // a tick
		{ping: 2 * second, interval: 3 * second, evict: 17500 * time.Millisecond},
		{ping: 5 * second, interval: 15 * second, evict: 105 * second},
		{ping: 5 * second, interval: 2500 * time.Millisecond, code: wire.Stale},
	} {
		for _, deaf := range []bool{true, false} {
			h := newClientHarness(t, me, otherA)
			h.c.cfg.Timing, _ = Timing{Ping: tt.ping}.Filled()
			h.answer(0, wire.Message{Kind: wire.Accept, ServerIncarnation: 7, Retry: tt.evict})
			began, end := h.now, h.now+max(h.c.cfg.Evict, tt.evict)
			for ask := began; h.now < end; h.now = min(ask, max(h.wake, h.now+1)) {
				if h.now == ask {
					h.from(h.c.master, wire.Message{Kind: wire.Ask, Code: tt.code, Epoch: h.c.epoch})
					if ask += tt.interval; !deaf && ask > began+tt.interval {
						ask = end
					}
				} else {
					h.step(ClientInput{Kind: Traffic, Server: h.c.master, Sent: h.now, Heard: h.now})
				}
				if k := slices.IndexFunc(h.sent, func(m wire.Message) bool { return m.Kind == wire.Ping }); k >= 0 && !deaf {
					h.answer(k, wire.Message{Kind: wire.Pong, Server: h.c.master, ServerIncarnation: 7})
				}
				if h.c.phase != settled {
					break
				}
			}
			if left := h.c.phase != settled; left != deaf || left && h.now-began > tt.interval+h.c.cfg.Client {
				t.Errorf("%+v, deaf %v: given up: %v, after %v", tt, deaf, left, h.now-began)
			}
		}
	}
}

// count adds to *pings the number of pings that the client sent in the latest step.
func (h *clientHarness) count(pings *int) {
	for _, m := range h.sent {
		if m.Kind == wire.Ping {
			*pings++
		}
	}
}
