package engine

import (
	"strings"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestOrphanHurries: CH-A14, CH-A19: no server has agreed to be the client's master, so the client waits before it
// asks all again. When a server that holds the client as an orphan sends a notice or a pong, the client soon begins
// the next round, and asks that server first.
func TestOrphanHurries(t *testing.T) {
	spec.Covers(t, "CH-A14", "CH-A19")
	for name, sign := range map[string]wire.Message{
		"notice": {Kind: wire.Notice, Code: wire.Orphaned}, "pong": {Kind: wire.Pong, Code: wire.Orphaned},
	} {
		h := newClientHarness(t, me, otherA)
		master := h.settled()
		for h.c.election.candidate.IsValid() || h.c.election.at-h.c.now < 4*h.c.cfg.Try { // no server answers
			h.now = h.wake
			h.step(ClientInput{})
		}
		h.from(master, sign)
		h.now += 3 * h.c.cfg.Try / 2
		h.step(ClientInput{})
		if h.c.election.candidate != master {
			t.Errorf("%s: %v is asked, not %v, which has shown that it is alive", name, h.c.election.candidate, master)
		}
	}
}

// TestOldMasterIsTold: CH-51, goal G-CH-3: a client that has chosen another master tells the old one, which does not
// answer, in the next T_evict at least every 0.75·T_ping, since the old one may be there again at any moment and
// evicts a client of which it hears nothing.
func TestOldMasterIsTold(t *testing.T) {
	spec.Covers(t, "CH-51", "G-CH-3")
	h := newClientHarness(t, me, otherA)
	old := h.settled()
	h.from(old, wire.Message{Kind: wire.Notice, Code: wire.Draining, Epoch: h.c.epoch})
	for len(h.sent) == 0 {
		h.now = h.wake
		h.step(ClientInput{})
	}
	h.answer(0, wire.Message{Kind: wire.Chosen, ServerIncarnation: 8})
	h.tellsOften(old)
}

// TestEarlierMastersAreTold: CH-51, goal G-CH-3: a client changes its master twice, and the two old ones, cut off, hear of
// neither choice. Both may take themselves for the master, so the client tells both at least every 0.75·T_ping.
func TestEarlierMastersAreTold(t *testing.T) {
	spec.Covers(t, "CH-51", "G-CH-3")
	h := newClientHarness(t, me, otherA, otherB)
	h.settled()
	var old []nid.NID
	for range 2 {
		master := h.c.master
		old = append(old, master)
		h.from(master, wire.Message{Kind: wire.Notice, Code: wire.Draining, Epoch: h.c.epoch})
		for len(h.sent) == 0 || h.c.phase == settled {
			h.now = h.wake
			h.step(ClientInput{})
		}
		h.answer(0, wire.Message{Kind: wire.Chosen, ServerIncarnation: 8})
	}
	longest, end, last := 3*h.c.cfg.Ping/4, h.now+h.c.cfg.Evict, map[nid.NID]time.Duration{old[0]: h.now, old[1]: h.now}
	for h.now < end {
		h.now = h.wake
		h.step(ClientInput{})
		for i, sent, to := 0, h.sent, h.to; i < len(sent); i++ {
			if sent[i].Kind == wire.Ping {
				h.from(to[i], wire.Message{Kind: wire.Pong, ServerIncarnation: 8, Sequence: sent[i].Sequence, Epoch: sent[i].Epoch})
			} else if h.now-last[to[i]] > longest {
				t.Fatalf("%v is told %v after the last time", to[i], h.now-last[to[i]])
			}
			last[to[i]] = h.now
		}
	}
	for _, id := range old {
		if end-last[id] > longest {
			t.Errorf("%v is not told in the last %v", id, end-last[id])
		}
	}
}

// TestCandidateIsTold: CH-51, goal G-CH-3: a candidate does not answer a client's request to connect, and another server
// becomes the client's master. The candidate may have accepted the client all the same, and consider itself the master. So
// the client informs it of the present master at least every 0.75·T_ping, although the client may not be connected there.
func TestCandidateIsTold(t *testing.T) {
	spec.Covers(t, "CH-51", "G-CH-3")
	h := newClientHarness(t, me, otherA)
	candidate := h.to[0]
	for len(h.sent) == 0 || h.to[0] == candidate {
		h.now = h.wake
		h.step(ClientInput{})
	}
	h.answer(0, wire.Message{Kind: wire.Accept, ServerIncarnation: 8})
	h.tellsOften(candidate)
}

// TestDroppedMasterIsTold: CH-51, goal G-CH-3: a client asks a server to be its master, and gives up the connection because the
// server has not answered for T_orphan. The client's messages may have arrived there all the same. So the client informs that
// server of its next master, like servers to which it is still connected.
func TestDroppedMasterIsTold(t *testing.T) {
	spec.Covers(t, "CH-51", "G-CH-3")
	h := newClientHarness(t, me, otherA)
	old := h.settled()
	h.step(ClientInput{Kind: Attach, Server: old})
	h.from(old, wire.Message{Kind: wire.Notice, Code: wire.Draining, Epoch: h.c.epoch})
	for !strings.Contains(h.told, "dropped:orphaned") {
		h.now = h.wake
		h.step(ClientInput{})
		for i, sent, to := 0, h.sent, h.to; i < len(sent) && !strings.Contains(h.told, "dropped"); i++ {
			if to[i] != old {
				h.from(to[i], wire.Message{Kind: wire.Chosen, Code: wire.Draining, Sequence: sent[i].Sequence, Epoch: sent[i].Epoch})
			}
		}
	}
	for len(h.sent) == 0 || h.to[0] == old {
		h.now = h.wake
		h.step(ClientInput{})
	}
	h.answer(0, wire.Message{Kind: wire.Chosen, ServerIncarnation: 8})
	h.tellsOften(old)
}

// TestLateMasterIsTold: CH-51, goal G-CH-3: a master loses the quorum, and ends the connection of a client. When it has the quorum
// again, it accepts a late copy of the client's connect, and considers itself the master. So the client informs it of the present
// master at least every 0.75·T_ping.
func TestLateMasterIsTold(t *testing.T) {
	spec.Covers(t, "CH-51", "G-CH-3")
	h := newClientHarness(t, me, otherA)
	asked := h.sent[0]
	old := h.settled()
	h.from(old, wire.Message{Kind: wire.Notice, Code: wire.NoQuorum, Epoch: h.c.epoch})
	for len(h.sent) == 0 {
		h.now = h.wake
		h.step(ClientInput{})
	}
	h.answer(0, wire.Message{Kind: wire.Chosen, ServerIncarnation: 8})
	h.from(old, wire.Message{Kind: wire.Accept, Sequence: asked.Sequence, Epoch: asked.Epoch})
	h.tellsOften(old)
}

// tellsOften fails the test unless the client tells a server, which does not answer, of its present master at least every
// 0.75·T_ping in the next T_evict. The master answers pings.
func (h *clientHarness) tellsOften(id nid.NID) {
	h.t.Helper()
	longest, last, end := 3*h.c.cfg.Ping/4, h.now, h.now+h.c.cfg.Evict
	for h.now < end {
		h.now = h.wake
		h.step(ClientInput{})
		for i, sent, to := 0, h.sent, h.to; i < len(sent); i++ {
			switch {
			case sent[i].Kind == wire.Ping:
				h.from(to[i], wire.Message{Kind: wire.Pong, ServerIncarnation: 8, Sequence: sent[i].Sequence, Epoch: sent[i].Epoch})
			case to[i] == id && h.now-last > longest:
				h.t.Fatalf("told %v after the last time", h.now-last)
			case to[i] == id:
				last = h.now
			}
		}
	}
	if end-last > longest {
		h.t.Errorf("not told in the last %v", end-last)
	}
}

// TestPauseWhileAsking: goal G-CH-3: a client stands still after it has asked a candidate, and finds the agreement when
// it goes on. The new master has heard nothing of it for as long as the pause, so the client pings it at once.
func TestPauseWhileAsking(t *testing.T) {
	spec.Covers(t, "G-CH-3")
	h := newClientHarness(t, me)
	asked := h.sent[0]
	h.now += 9 * time.Second
	h.from(me, wire.Message{Kind: wire.Accept, Sequence: asked.Sequence, Epoch: asked.Epoch, ServerIncarnation: 7})
	h.want("attached master-chosen", wire.Ping)
}

// TestPauseBeforeAsking: CH-56: a pause that ended before the client asked its next candidate is no reason to ping it.
func TestPauseBeforeAsking(t *testing.T) {
	spec.Covers(t, "CH-56")
	h := newClientHarness(t, me, otherA)
	h.now += 9 * time.Second // the pause
	h.step(ClientInput{})
	for first := h.c.election.candidate; h.c.election.candidate == first || !h.c.election.candidate.IsValid(); {
		h.now = h.wake
		h.step(ClientInput{})
	}
	h.answer(0, wire.Message{Kind: wire.Accept, ServerIncarnation: 7})
	for _, m := range h.sent {
		if m.Kind == wire.Ping {
			t.Error("the client pings the master that it has asked just now")
		}
	}
}

// TestOthersAreToldWithBackOff: CH-51: a server that was not the master and does not answer is told the choice with
// back-off, and the old master no more often than the client asks candidates.
func TestOthersAreToldWithBackOff(t *testing.T) {
	spec.Covers(t, "CH-51")
	h := newClientHarness(t, me, otherA, otherB)
	old := h.settled()
	h.from(old, wire.Message{Kind: wire.Notice, Code: wire.Draining, Epoch: h.c.epoch})
	for len(h.sent) == 0 {
		h.now = h.wake
		h.step(ClientInput{})
	}
	h.answer(0, wire.Message{Kind: wire.Chosen, ServerIncarnation: 8})
	h.c.cfg.Evict, h.c.cfg.Try = 60*time.Second, 8*time.Second
	h.c.cfg.MaxBackoff, h.c.cfg.Orphan = 40*time.Second, 80*time.Second
	told := make(map[nid.NID]int)
	for end := h.now + h.c.cfg.Evict; h.now < end; {
		h.now = h.wake
		h.step(ClientInput{})
		for i, sent, to := 0, h.sent, h.to; i < len(sent); i++ {
			if told[to[i]]++; sent[i].Kind == wire.Ping {
				h.from(to[i], wire.Message{Kind: wire.Pong, ServerIncarnation: 8, Sequence: sent[i].Sequence, Epoch: sent[i].Epoch})
			}
		}
	}
	delete(told, h.c.master)
	for id, n := range told {
		if id == old && n > 15 || id != old && n > 6 {
			t.Errorf("%v, old master %v: told %d times", id, old, n)
		}
	}
	if len(told) != 2 {
		t.Errorf("told %v", told)
	}
}
