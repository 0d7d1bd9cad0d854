package fault

import (
	"errors"
	"math"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// TestPause: during a pause no message passes in either direction; then all do, in order,
// also those that are sent while the queue empties.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{})
		b.plan.Pause(0)
		for i := range uint64(3) {
			b.send(i)
			b.receive(there, i, nil)
			pass(time.Second)
		}
		if s := b.plan.Snapshot(); len(b.sent)+len(b.got) > 0 || !s.Paused || s.Held != 6 || s.PauseLeft != 0 {
			t.Fatalf("sent %v, got %v, %+v", b.sent, b.got, s)
		}
		b.plan.Resume()
		b.send(3)
		b.receive(there, 3, nil)
		pass(time.Millisecond)
		want := []uint64{0, 1, 2, 3}
		if !slices.Equal(bitsOf(b.sent), want) || !slices.Equal(bitsOf(b.got), want) {
			t.Errorf("sent %v, got %v", b.sent, b.got)
		}
		if b.plan.active.Load() {
			t.Error("still looks at every message")
		}
		b.empty()
	})
}

// TestPauseEnds: a pause ends by itself. If Pause is called several times, the pause ends when the last
// call says.
func TestPauseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{}, "latency 1s")
		b.plan.Pause(2 * time.Second)
		pass(time.Second)
		b.plan.Pause(5 * time.Second)
		b.send(1)
		pass(3 * time.Second)
		if s := b.plan.Snapshot(); !s.Paused || s.PauseLeft != 2*time.Second {
			t.Errorf("the first pause ended the second: %+v", s)
		}
		b.send(2)
		pass(3 * time.Second)
		want := []event{{at: 6 * time.Second, bits: 1, data: "1"}, {at: 6 * time.Second, bits: 2, data: "2"}}
		if !slices.Equal(b.sent, want) || b.plan.Snapshot().Paused {
			t.Errorf("sent %v, want %v", b.sent, want)
		}
		b.plan.Pause(time.Second)
		b.plan.Resume()
		b.plan.Pause(0)
		pass(time.Hour)
		if !b.plan.Snapshot().Paused {
			t.Error("the end of a pause that was over ended another one")
		}
	})
}

// TestNoRoomAfterPause: a message that would be kept only to preserve the order overtakes the kept
// messages if there is no room for it. It is not lost.
func TestNoRoomAfterPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{MaxHeld: 2, Clock: tardyClock{machine.RealClock()}})
		b.plan.Pause(0)
		b.send(1)
		b.receive(there, 1, nil)
		b.plan.Resume() // now the kept messages are due, but the timer at which they leave is late (tardyClock)
		b.send(2)
		b.receive(there, 2, nil)
		pass(time.Second)
		want := []uint64{2, 1}
		if !slices.Equal(bitsOf(b.sent), want) || !slices.Equal(bitsOf(b.got), want) || b.plan.Snapshot().Overflowed > 0 {
			t.Errorf("sent %v, got %v, %+v", b.sent, b.got, b.plan.Snapshot())
		}
		b.empty()
	})
}

func TestPartitionOfTraffic(t *testing.T) {
	b := newBench(t, Config{}, "loss 0%")
	p, err := ParsePartition("10.0.0.2@tcp")
	if err != nil {
		t.Fatal(err)
	}
	b.plan.Separate(p)
	b.send(1)
	b.receive(there, 1, nil)
	b.receive(third, 2, nil)
	s := b.plan.Snapshot()
	if s.Partition != "10.0.0.2@tcp" || s.Cut != 2 || len(b.sent) != 0 || !slices.Equal(bitsOf(b.got), []uint64{2}) {
		t.Errorf("sent %v, got %v, %+v", b.sent, b.got, s)
	}
	if s.Rules[0].Matched != 1 {
		t.Errorf("rules matched %d messages, want the one that passed", s.Rules[0].Matched)
	}
	b.plan.Separate(Partition{})
	b.send(3)
	if s := b.plan.Snapshot(); len(b.sent) != 1 || s.Partition != "" || s.Cut != 2 {
		t.Errorf("healed: sent %v, %+v", b.sent, s)
	}
}

// TestRulesInOrder: if several rules set the same field the last one wins.
func TestRulesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{}, "latency 10ms loss 100%", "to 10.0.0.2@tcp loss 0%", "to 10.0.0.2@tcp latency 20ms", "to 10.0.0.3@tcp cut")
		b.send(1)
		b.ni.Send(put(here, third, 2, ""))
		b.ni.Send(put(here, nid.MustParse("10.0.0.4@tcp"), 3, ""))
		pass(time.Second)
		if len(b.sent) != 1 || b.sent[0].at != 20*time.Millisecond {
			t.Errorf("sent %v", b.sent)
		}
		want := []Counts{{Matched: 3, Lost: 1}, {Matched: 1}, {Matched: 1, Delayed: 1}, {Matched: 1, Cut: 1}}
		for i, r := range b.plan.Snapshot().Rules {
			if r.ID != i+1 || r.Counts != want[i] {
				t.Errorf("rule %d: %+v, want %+v", r.ID, r.Counts, want[i])
			}
		}
	})
}

func TestAddAndRemove(t *testing.T) {
	b := newBench(t, Config{})
	first, second := b.rule("loss 100%"), b.rule("cut")
	if err := b.plan.Remove(first); err != nil {
		t.Fatal(err)
	}
	if err := b.plan.Remove(first); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("removed twice: %v", err)
	}
	if rules := b.plan.Snapshot().Rules; len(rules) != 1 || rules[0].ID != second || rules[0].Effect != "cut" {
		t.Errorf("%+v", rules)
	}
	if n := b.plan.RemoveAll(); n != 1 || b.plan.active.Load() {
		t.Errorf("removed %d, active %v", n, b.plan.active.Load())
	}
	if id := b.rule("cut"); id != 3 {
		t.Errorf("number %d was used before", id)
	}
	for range maxRules - 1 {
		b.rule("loss 0%")
	}
	if _, err := b.plan.Add(Rule{Cut: true}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("one rule too many: %v", err)
	}
}

// TestRates: over many messages the rate of each fault is that of the rule, within four
// standard deviations, and the same seed has the same result.
func TestRates(t *testing.T) {
	n := effort.Of[uint64](8000, 40_000, 40_000)
	const loss, duplicate, reorder = 0.05, 0.1, 0.2
	const seed = 7
	run := func(seed uint64) (c Counts, digest []uint64) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, Config{Seed: seed, MaxHeld: int(2 * n)}, "loss 5% duplicate 10% reorder 20% latency 10ms±2ms")
			for i := range n {
				b.send(i)
				if i%100 == 0 {
					pass(time.Microsecond)
				}
			}
			pass(time.Minute)
			c = b.plan.Snapshot().Rules[0].Counts
			digest = bitsOf(b.sent)
			if uint64(len(b.ended)) != n || uint64(len(b.sent)) != n-c.Lost+c.Duplicated {
				t.Errorf("finalized %d, sent %d, %+v", len(b.ended), len(b.sent), c)
			}
			b.empty()
		})
		return c, digest
	}
	within := func(what string, got uint64, of, p float64) {
		if sigma := math.Sqrt(of * p * (1 - p)); math.Abs(float64(got)-of*p) > 4*sigma {
			t.Errorf("seed %d: %d %s, want %.0f ± %.0f", seed, got, what, of*p, 4*sigma)
		}
	}
	c, digest := run(seed)
	passed := float64(n - c.Lost)
	within("lost", c.Lost, float64(n), loss)
	within("duplicated", c.Duplicated, passed, duplicate)
	within("reordered", c.Reordered, passed, reorder)
	if c.Matched != n || c.Delayed != n-c.Lost || c.Cut != 0 {
		t.Errorf("%+v", c)
	}
	if again, same := run(seed); again != c || !slices.Equal(same, digest) {
		t.Errorf("seed %d: the second run differs: %+v, %+v", seed, c, again)
	}
	if _, other := run(seed + 1); slices.Equal(other, digest) {
		t.Errorf("seeds %d and %d do the same", seed, seed+1)
	}
}
