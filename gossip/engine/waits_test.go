package engine

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"ulnet/gossip/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestFewMessagesAfterPause: in the first cycles after a short pause no message arrives, because it is lost or because
// the peers were paused too. A node that was heard long before the pause is not declared dead until enough messages
// have arrived without news of it, or as many cycles have passed as the detection of a death takes (GO-A7).
func TestFewMessagesAfterPause(t *testing.T) {
	spec.Covers(t, "GO-A7")
	paused := func() *harness {
		h := newHarness(t, 16, 0, nil)
		h.meet(20)
		h.m.ages.bytes[5] = 8
		h.now += time.Duration(h.m.Limits().Dead/2) * interval // too short for a resync
		h.step(Input{})
		return h
	}
	silent := young(16, 1) // ages of a peer that has no news of participant 5
	silent[5] = oldest

	h := paused()
	if events := h.cycles(8); len(events) > 0 || !h.m.Unsure() || h.m.Participant(5).Age <= uint8(h.m.Limits().Dead) {
		t.Errorf("without messages: told %v, unsure %v, age %d", kinds(events), h.m.Unsure(), h.m.Participant(5).Age)
	}
	h.ping(1, h.params(h.header()), young(16, 1)...)
	if events := h.cycles(1); len(events) > 0 || h.m.Unsure() {
		t.Errorf("after news: told %v, unsure %v", kinds(events), h.m.Unsure())
	}

	h = paused()
	h.cycles(5)
	for range h.m.Limits().Resync {
		h.ping(1, h.params(h.header()), silent...)
	}
	if events := kinds(h.cycles(1)); !slices.Equal(events, []EventKind{Died}) {
		t.Errorf("after enough messages: told %v", events)
	}

	h = paused()
	began := h.m.Cycle()
	for h.m.Unsure() && h.m.Cycle() < began+100 {
		h.cycles(1)
	}
	if took := int(h.m.Cycle() - began); took != h.m.Limits().Dead || h.m.AliveCount() != 1 {
		t.Errorf("unreached for %d cycles, %d are alive", took, h.m.AliveCount())
	}
}

// TestWakesInStep: half of the nodes were paused together for long. They have some old news of the others, and their
// clocks are in step with each other, but behind those of the others, whose messages they refuse for a while. Until
// it is clear which clock is right, a node reports no deaths (GO-A8).
func TestWakesInStep(t *testing.T) {
	spec.Covers(t, "GO-A8")
	const n, sleepers = 16, 8 // the first nodes were paused
	h := newHarness(t, n, 0, nil)
	h.meet(20)
	h.now += 30 * interval
	h.step(Input{})
	dead, resumed := h.m.Limits().Dead, h.m.Cycle()
	old := func() []byte { // ages that sleepers have: those of the others are of one message during the pause
		ages := bytes.Repeat([]byte{byte(min(dead-6+int(h.m.Cycle()-resumed), oldest))}, n)
		clear(ages[:sleepers])
		return ages
	}
	ahead := h.m.Clock() + 200
	for range 2 * dead {
		events := h.cycles(1)
		for from := 1; from < sleepers; from += 3 {
			h.ping(from, h.params(h.header()), old()...)
			events = append(events, h.out.Events...)
		}
		for from := sleepers; from < n; from += 3 {
			clock := max(ahead, h.m.Clock())
			h.ping(from, h.params(wire.Header{N: n, Clock: clock}), young(n, from)...)
			events = append(events, h.out.Events...)
		}
		ahead += clockRate
		if slices.Contains(kinds(events), Died) {
			t.Fatalf("told %v, %d cycles after the pause", kinds(events), h.m.Cycle()-resumed)
		}
	}
	if h.m.Unsure() || h.m.AliveCount() != n || h.m.Stats().Behind == 0 {
		t.Errorf("unsure %v, %d alive, %+v", h.m.Unsure(), h.m.AliveCount(), h.m.Stats())
	}
}
