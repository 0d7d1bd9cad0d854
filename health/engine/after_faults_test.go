package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestCopyPostponesNothing: CH-A8, CH-33: an eviction is final 2·T_evict after a server first heard of it, even if
// a copy of the request comes later. So a server that loses its quorum after that keeps the tombstone.
func TestCopyPostponesNothing(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-A8")
	h := evictedByA(t, 30*time.Second)
	h.batchFrom(otherA, false)
	h.advance(5 * time.Second)
	if got := word5(h, wire.Connect, 2); got != "reject:global" {
		t.Errorf("2·T_evict after the eviction: %q", got)
	}
	h.step(ServerInput{Kind: QuorumIs})
	h.want("quorum-lost")
}

// TestPauseWithoutQuorum: CH-A6, CH-35: a server without a quorum stands still, and gets messages before discovery
// can tell it that there is a quorum again. It does not evict its clients at once.
func TestPauseWithoutQuorum(t *testing.T) {
	spec.Covers(t, "CH-35", "CH-A6")
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.step(ServerInput{Kind: QuorumIs})
	h.advance(h.s.cfg.Quorum - time.Millisecond)
	h.now += 10 * time.Second // the pause
	h.step(ServerInput{})
	h.now += 100 * time.Millisecond
	h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5, Epoch: 1})
	h.wantState("connected 5 10.0.0.1@tcp/1")
	h.advance(2*h.s.cfg.Tick - 200*time.Millisecond)
	h.wantState("connected 5 10.0.0.1@tcp/1")
	h.advance(time.Second)
	h.wantState("none")
}

// TestPausesWithoutQuorum: CH-A6, CH-35: a server without a quorum stands still over and over, and never runs for
// two ticks in between. It still evicts its clients two ticks of active time after T_q at the latest.
func TestPausesWithoutQuorum(t *testing.T) {
	spec.Covers(t, "CH-35", "CH-A6")
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.step(ServerInput{Kind: QuorumIs})
	run := 3 * h.s.cfg.Tick / 2
	for active := time.Duration(0); active < h.s.cfg.Quorum+2*h.s.cfg.Tick; active += run {
		h.advance(run)
		h.now += 10 * time.Second // the pause
		h.step(ServerInput{})
	}
	h.wantState("none")
}

// TestToldTwice: CH-33, CH-65: a server that has won the quorum gets an answer twice, and learns of another tombstone
// from another server. It passes that on to the first server, which has not told it.
func TestToldTwice(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-65")
	h := newHarness(t, nil)
	h.advance(maxAsks * h.s.cfg.Tick)
	h.mute = true
	var asked [2]uint64
	for k, id := range []nid.NID{otherA, otherB} {
		h.message(nid.ProcessID{NID: id, PID: nid.LustrePID}, wire.Message{Kind: wire.Tombstones, Sequence: 3, Retry: time.Minute})
		asked[k] = h.last(wire.Tombstones).Sequence
	}
	one, two := wire.Entry{Client: wire.ClientID{1}, Incarnation: 5, Mark: 250}, wire.Entry{Client: wire.ClientID{2}, Incarnation: 5, Mark: 250}
	h.s.catchup.until = h.now + time.Second // answers of others are expected
	h.tellTombstones(otherA, asked[0], one)
	h.tellTombstones(otherA, asked[0], one)
	h.tellTombstones(otherB, asked[1], two)
	var to []nid.NID
	for _, e := range h.effects {
		if e.Kind == DoSend {
			to = append(to, e.To.NID)
		}
	}
	if len(to) != 2 {
		t.Errorf("%q: passed on to %v, not to both", h.words(), to)
	}
}

// TestDetachCandidate: a program leaves a server that is being asked to be the master. The farewell ends the
// connection there, so an agreement that is under way makes that server no master.
func TestDetachCandidate(t *testing.T) {
	h := newClientHarness(t, me, otherA)
	candidate, asked := h.to[0], h.sent[0]
	h.step(ClientInput{Kind: Detach, Server: candidate})
	if len(h.sent) != 2 || h.sent[0].Kind != wire.Disconnect || h.to[1] == candidate {
		t.Fatalf("sent %+v to %v", h.sent, h.to)
	}
	h.from(candidate, wire.Message{Kind: wire.Accept, Sequence: asked.Sequence, Epoch: asked.Epoch})
	if h.c.phase != electing {
		t.Errorf("%v, master %v", h.c.phase, h.c.master)
	}
}

// TestOrphansAnew: CH-20, CH-66: a server that had no quorum for nearly T_orphan wins it. Orphans and recovering
// clients could not choose a master meanwhile, so they have T_orphan from then on, and are told soon.
func TestOrphansAnew(t *testing.T) {
	spec.Covers(t, "CH-20", "CH-66")
	for name, begin := range map[string]func(h *harness){
		"orphaned": func(h *harness) { h.connect(5, otherA, 1); orphanA(h) },
		"recovering": func(h *harness) {
			h.step(ServerInput{Kind: Restore, Record: &Record{Client: testClient, Incarnation: 5, Master: gone, Epoch: 1, Peer: host}})
		},
	} {
		h := newHarness(t, func(c *ServerConfig) { c.Quorum = time.Hour })
		begin(h)
		h.step(ServerInput{Kind: QuorumIs})
		h.advance(h.s.cfg.Orphan - time.Second)
		h.step(ServerInput{Kind: QuorumIs, Alive: true})
		h.advance(3*h.s.cfg.Tick + h.s.cfg.Tick/10)
		h.last(wire.Notice)
		h.advance(h.s.cfg.Orphan - 4*h.s.cfg.Tick)
		if h.state() == "none" {
			t.Errorf("%s: evicted before T_orphan with a quorum is over", name)
		}
		h.advance(2 * h.s.cfg.Tick)
		h.wantState("none")
	}
}
