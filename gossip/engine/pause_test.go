package engine

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"ulnet/gossip/wire"
	"ulnet/lnd/lndtest/spec"
)

// meet lets some cycles pass. In each of them, every second participant sends a ping whose ages say that
// all participants are alive.
func (h *harness) meet(cycles int) (events []Event) {
	h.t.Helper()
	n := h.list.Len()
	for i := range cycles {
		events = append(events, h.cycles(1)...)
		for k := 1; k < n; k += 2 {
			h.ping(k, h.params(h.header()), young(n, k)...)
			events = append(events, h.out.Events...)
		}
		_ = i
	}
	return events
}

// TestPause: a node that was paused adds the missed cycles to its ages before it merges or sends anything.
// So no other node takes a dead participant for a live one because of its ages (GO-A7, GO-65). With Strict
// it does not add them.
func TestPause(t *testing.T) {
	spec.Covers(t, "GO-65", "GO-A7")
	for _, strict := range []bool{false, true} {
		h := newHarness(t, 16, 0, func(c *Config) { c.Strict = strict })
		h.meet(20)
		clock := h.m.Clock()
		h.now += 6*interval + interval/2 // the node misses five cycles, and the sixth is due now
		header := h.params(h.header())
		header.Clock = clock + 2
		h.ping(1, header, young(16, 1)...)
		want, missed := byte(1+5+1), uint64(5)
		if strict {
			want, missed = 2, 0 // with Strict the age is merged at once: age 1, plus 1 for the hop
		}
		if got := h.m.ages.Bytes()[5]; got != want || h.m.Stats().Missed != missed {
			t.Errorf("strict %v: age %d after %d missed cycles, want %d after %d", strict, got, h.m.Stats().Missed, want, missed)
		}
		if !strict && h.m.Clock() != clock+5+1 {
			t.Errorf("the clock went from %d to %d", clock, h.m.Clock())
		}
	}
}

// TestQuietAfterPause: messages that were queued during the pause set the clock, but are not
// merged before a whole cycle has passed. After that cycle the clock distinguishes old messages
// from new ones (GO-A9).
func TestQuietAfterPause(t *testing.T) {
	spec.Covers(t, "GO-A9")
	h := newHarness(t, 16, 0, nil)
	h.meet(20)
	start := h.m.Clock()
	h.now += 100 * interval
	for age := range uint64(100) { // messages that were sent during the pause, the oldest first
		header := h.params(wire.Header{N: 16, Clock: start + age*5})
		h.ping(1, header, young(16, 1)...)
	}
	for i, age := range h.m.ages.Bytes() {
		if i > 0 && age != unheard {
			t.Fatalf("participant %d has age %d from a message that waited", i, age)
		}
	}
	if h.m.Stats().Quiet == 0 || h.m.Clock() < start+99*5 {
		t.Errorf("clock %d after %d, counters %+v", h.m.Clock(), start+99*5, h.m.Stats())
	}
	h.cycles(1)
	old := h.params(wire.Header{N: 16, Clock: start + 60*5})
	h.ping(1, old, young(16, 1)...)
	if h.m.Stats().Obsolete == 0 || h.m.ages.Bytes()[1] != unheard {
		t.Error("an old message was merged after the quiet cycle")
	}
	h.ping(1, h.params(h.header()), young(16, 1)...)
	if h.m.ages.Bytes()[1] != 1 {
		t.Error("a new message was not merged after the quiet cycle")
	}
}

// TestResync: after a long pause a node forgets the ages of all others, and reports no change of health
// until it has merged enough messages. So it reports no death of participants that are alive (GO-A8,
// GO-65).
func TestResync(t *testing.T) {
	spec.Covers(t, "GO-65", "GO-A8")
	h := newHarness(t, 16, 0, nil)
	h.meet(20)
	if !h.m.Quorum() || h.m.AliveCount() != 16 {
		t.Fatalf("quorum %v with %d alive", h.m.Quorum(), h.m.AliveCount())
	}
	h.now += 10 * time.Duration(h.m.Limits().Dead) * interval
	h.step(Input{})
	events := slices.Clone(h.out.Events)
	if want := append([]byte{0}, bytes.Repeat([]byte{unheard}, 15)...); !bytes.Equal(h.m.ages.Bytes(), want) {
		t.Errorf("ages %v after the pause", h.m.ages.Bytes())
	}
	if h.m.AliveCount() != 16 || !h.m.Quorum() || !h.m.Unsure() {
		t.Error("the quorum is lost in resync, or judged")
	}
	if events = append(events, h.meet(h.m.Limits().Resync+3)...); h.m.Unsure() {
		t.Error("still unsure")
	}
	if got, want := kinds(events), []EventKind{Paused, Resynced}; !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}

// TestResyncAlone: a node that no other node reaches after a pause loses its quorum in the end.
func TestResyncAlone(t *testing.T) {
	h := newHarness(t, 16, 0, nil)
	h.meet(20)
	h.now += 100 * interval
	h.step(Input{})
	events := h.cycles(2*h.m.Limits().Stealth + 2)
	if h.m.Quorum() || h.m.AliveCount() != 1 || !slices.Contains(kinds(events), QuorumLost) {
		t.Errorf("quorum %v, %d alive, events %v", h.m.Quorum(), h.m.AliveCount(), kinds(events))
	}
}

// TestClockShowsPause: if a message's clock is far ahead of a node in sync, the node concludes
// that it was paused itself, because its own clock may have stood still as well (GO-A7).
func TestClockShowsPause(t *testing.T) {
	spec.Covers(t, "GO-A7")
	h := newHarness(t, 16, 0, nil)
	h.meet(20)
	header := h.params(h.header())
	header.Clock += 40*clockRate + 2
	h.ping(1, header, young(16, 1)...)
	h.cycles(2) // the node believes the clock only when another peer sends it too, in a later cycle
	h.ping(2, header, young(16, 2)...)
	if h.m.Stats().Behind != 1 || h.m.Stats().Missed != 40 || h.m.ages.Bytes()[5] != unheard {
		t.Errorf("counters %+v, ages %v", h.m.Stats(), h.m.ages.Bytes())
	}
}

// TestStealth: a started node is silent but receives messages, and begins to send after the
// time that the others need to detect its death (GO-70, GO-71, GO-A17, GO-A19).
func TestStealth(t *testing.T) {
	spec.Covers(t, "GO-70", "GO-71", "GO-A17", "GO-A19")
	for _, n := range []int{8, 64, 1000, 65536} {
		h := newHarness(t, n, 0, func(c *Config) { c.ColdStart = false })
		limit := h.m.Limits().Stealth
		if dead := h.m.Limits().Dead; limit <= dead+3 {
			t.Errorf("%d participants: %d cycles of silence, dead after %d", n, limit, dead)
		}
		for range limit {
			h.cycles(1)
			if len(h.sends) != 0 {
				t.Fatalf("%d participants: sent a ping in cycle %d", n, h.m.Cycle())
			}
			h.ping(3, h.params(h.header()), append([]byte{5}, young(n, 3)[1:]...)...)
			if len(h.sends) != 0 {
				t.Fatalf("%d participants: sent a reply in cycle %d", n, h.m.Cycle())
			}
		}
		if h.m.ages.Bytes()[3] != 1 || h.m.Clock() == 0 {
			t.Errorf("%d participants: does not listen", n)
		}
		h.cycles(1)
		if len(h.sends) != 1 {
			t.Errorf("%d participants: still silent in cycle %d", n, h.m.Cycle())
		}
	}
}

// TestStealthEndsEarly: a new node ends its silence when a ping shows that the sender has long
// considered the node dead. A ping of a sender that knows no ages at all does not end the
// silence (GO-72, GO-A18).
func TestStealthEndsEarly(t *testing.T) {
	spec.Covers(t, "GO-72", "GO-A18")
	for _, c := range []struct {
		age   func(l Limits) byte
		speak bool
	}{
		{func(l Limits) byte { return byte(l.VeryOld - 1) }, false},
		{func(l Limits) byte { return byte(l.VeryOld) }, true},
		{func(Limits) byte { return oldest }, true},
		{func(Limits) byte { return unheard }, false},
	} {
		h := newHarness(t, 16, 0, func(c *Config) { c.ColdStart = false })
		h.cycles(1)
		ages := young(16, 3)
		ages[0] = c.age(h.m.Limits())
		h.ping(3, h.params(h.header()), ages...)
		if got := !h.m.Silent(); got != c.speak {
			t.Errorf("own age %d: speaks %v, want %v", ages[0], got, c.speak)
		}
	}
}

// TestHealth: a participant whose age is above the limit is dead, whether or not it was ever
// heard (GO-38, GO-2). Each death is counted (GO-73, GO-76). The quorum needs more than half of
// all participants (GO-77).
func TestHealth(t *testing.T) {
	spec.Covers(t, "GO-2", "GO-38", "GO-73", "GO-76", "GO-77")
	h := newHarness(t, 6, 0, nil)
	events := h.cycles(1)
	h.set(0, 1, 1, 13, 17, 255)
	h.step(Input{})
	events = append(events, h.out.Events...)
	h.set(0, 1, 1, 16, 16, 255) // a live participant stays alive at an age at which a dead one does not come back
	h.step(Input{})
	events = append(events, h.out.Events...)
	if got, want := kinds(events), []EventKind{CameAlive, CameAlive, CameAlive, QuorumWon}; !slices.Equal(got, want) {
		t.Fatalf("told %v, want %v", got, want)
	}
	for i, want := range []Health{Alive, Alive, Alive, Alive, Dead, Unknown} {
		if p := h.m.Participant(i); p.Health != want || p.NID != h.list.NID(i) {
			t.Errorf("participant %d: %+v, want %v", i, p, want)
		}
	}
	events = h.cycles(1) // the age of participant 3 exceeds the limit
	if len(events) != 2 || events[0].Kind != Died || events[0].NID != h.list.NID(3) || events[0].Aliveness != 1 || events[1].Kind != QuorumLost {
		t.Errorf("told %+v", events)
	}
	h.ping(3, h.params(h.header()), young(6, 3)...)
	if p := h.m.Participant(3); p.Health != Alive || p.Aliveness != 1 {
		t.Errorf("after its return: %+v", p)
	}
}

// TestQuorum is the table of CH-3: strictly more than half.
func TestQuorum(t *testing.T) {
	spec.Covers(t, "CH-3")
	for n := 2; n <= 6; n++ {
		for alive := 1; alive <= n; alive++ {
			h := newHarness(t, n, 0, nil)
			ages := bytes.Repeat([]byte{100}, n)
			copy(ages, make([]byte, alive))
			h.set(ages...)
			h.step(Input{})
			if got, want := h.m.Quorum(), 2*alive > n; got != want {
				t.Errorf("%d of %d: quorum %v, want %v", alive, n, got, want)
			}
		}
	}
}

// TestShortPause: after a short pause a node first has time to hear the others again. Until then it
// declares no participant dead that it could not hear during the pause (GO-A7).
func TestShortPause(t *testing.T) {
	spec.Covers(t, "GO-A7")
	h := newHarness(t, 16, 0, nil)
	h.meet(20)
	dead := h.m.Limits().Dead
	ages := bytes.Repeat([]byte{byte(dead - 4)}, 16)
	ages[0] = 0
	h.set(ages...)
	h.now += time.Duration(dead/2) * interval // the node misses dead/2 - 1 cycles: too few for a resync
	h.step(Input{})
	events := append(slices.Clone(h.out.Events), h.meet(3)...)
	if got, want := kinds(events), []EventKind{Paused}; !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
	h.cycles(1)
	h.set(append([]byte{0, 255}, ages[2:]...)...)
	h.step(Input{})
	if got := kinds(h.out.Events); !slices.Equal(got, []EventKind{Died}) {
		t.Errorf("then told %v, want a death", got)
	}
}

// TestManyPauses: short pauses without time to receive messages between them count as one long
// pause (GO-A8).
func TestManyPauses(t *testing.T) {
	spec.Covers(t, "GO-A8")
	h := newHarness(t, 16, 0, nil)
	h.meet(20)
	var events []Event
	for range 10 {
		h.now += time.Duration(h.m.Limits().Dead/2-2) * interval
		h.ping(1, h.params(h.header()), young(16, 1)...)
		events = append(events, h.out.Events...)
	}
	if !h.m.pause.resync || h.m.AliveCount() != 16 || slices.Contains(kinds(events), Died) {
		t.Errorf("resync %v, %d alive, told %v", h.m.pause.resync, h.m.AliveCount(), kinds(events))
	}
}

// TestResyncEnds: in resync, after a long pause, a node reports no health events. Resync ends when
// two conditions hold (GO-A8): it has lasted ⌈log2 N⌉ + 2 cycles, and the node has merged at least
// as many messages as cycles have passed.
func TestResyncEnds(t *testing.T) {
	spec.Covers(t, "GO-A8")
	for _, missing := range []int{0, 1} {
		h := newHarness(t, 16, 0, nil)
		h.meet(20)
		h.now += 100 * interval
		h.step(Input{})
		for range h.m.Limits().Resync - 1 {
			h.cycles(1)
		}
		for range h.m.Limits().Resync - missing {
			h.ping(1, h.params(h.header()), young(16, 1)...)
		}
		if !h.m.pause.resync {
			t.Fatalf("ended in cycle %d", h.m.pause.cycles)
		}
		h.cycles(1)
		if got := h.m.pause.resync; got != (missing > 0) {
			t.Errorf("%d messages in %d cycles: resync %v", h.m.pause.accepted, h.m.Limits().Resync, got)
		}
	}
}

// TestNoFlapping: a node that detects a death before the others does not mistake their older
// news for a return of the dead node. It notices a real return (GO-73, GO-76). With Strict it
// takes the older news for a return, too.
func TestNoFlapping(t *testing.T) {
	spec.Covers(t, "GO-73", "GO-76")
	for _, strict := range []bool{false, true} {
		h := newHarness(t, 64, 0, func(c *Config) { c.Strict = strict })
		h.meet(10)
		l := h.m.Limits()
		h.m.ages.bytes[5] = byte(l.Dead)
		h.cycles(1)
		ages := young(64, 3)
		ages[5] = byte(l.Dead - 1) // after one more hop the age is at the limit
		h.ping(3, h.params(h.header()), ages...)
		p := h.m.Participant(5)
		if p.Age != uint8(l.Dead) || (p.Health == Alive) != strict || p.Aliveness != 1 {
			t.Errorf("strict %v: %+v", strict, p)
		}
		ages[5] = byte(l.Again - 1)
		h.ping(3, h.params(h.header()), ages...)
		if p := h.m.Participant(5); p.Health != Alive || p.Aliveness != 1 {
			t.Errorf("strict %v: does not come back: %+v", strict, p)
		}
	}
}

// TestPauseAccusesNoNode: messages that were queued in the socket during a pause have clocks of the
// whole time of the pause. Some are in step with this node's clock, others far ahead. The node reports
// no peer for an impossible clock because of them. Once the node is in sync again, it reports a peer
// with an impossible clock.
func TestPauseAccusesNoNode(t *testing.T) {
	h := newHarness(t, 16, 0, nil)
	h.meet(20)
	start := h.m.Clock()
	h.now += 100 * interval
	h.step(Input{})
	accused := func() bool {
		return slices.ContainsFunc(h.out.Events, func(e Event) bool { return e.Kind == ClockRefused })
	}
	ping := func(from int, clock uint64) {
		header := h.params(wire.Header{N: 16, Clock: clock})
		h.ping(from, header, young(16, from)...)
	}
	refused := h.m.Stats().BadClock
	ping(1, h.m.Clock()+1)
	ping(2, h.m.Clock()+1)
	for from := 3; from < 6; from++ {
		ping(from, start+500)
		if accused() {
			t.Errorf("peer %d is said to have an impossible clock", from)
		}
	}
	if h.m.Stats().BadClock == refused {
		t.Fatal("no clock was refused")
	}
	for h.m.Unsure() {
		h.meet(1)
	}
	h.meet(2)
	if ping(6, h.m.Clock()+10_000); !accused() {
		t.Error("a clock far ahead of a node that is sure is not told")
	}
}

// TestWakesWithOthers (GO-A8): after a pause, a node hears only nodes that have just been paused too, and
// that know no ages but their own. It considers no participant dead until as many cycles have passed as the
// detection of a death takes.
func TestWakesWithOthers(t *testing.T) {
	spec.Covers(t, "GO-A8")
	const n = 8
	h := newHarness(t, n, 0, nil)
	h.cycles(1)
	h.ping(3, h.params(h.header()), young(n, 3)...)
	h.now += 100 * interval
	h.step(Input{})
	began, unknown := h.m.Cycle(), bytes.Repeat([]byte{unheard}, n)
	for h.m.Unsure() {
		for from := 1; from < 4; from++ {
			unknown[from] = 0
			h.ping(from, h.params(h.header()), unknown...)
			unknown[from] = unheard
		}
		if h.cycles(1); h.m.Cycle() > began+1000 {
			t.Fatal("changes of health are kept back for ever")
		}
	}
	if took := int(h.m.Cycle() - began); took <= h.m.Limits().Dead {
		t.Errorf("health is reported %d cycles after a pause, when four of eight were heard of; want more than %d", took, h.m.Limits().Dead)
	}
}
