package router

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
)

// TestSwitch checks each transition between modes.
func TestSwitch(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-10", "RO-15")
	const wait = 110 * time.Second
	var s Switch
	want := func(m Mode) {
		t.Helper()
		if s.Mode() != m {
			t.Fatalf("mode %v, want %v", s.Mode(), m)
		}
	}
	if err := s.Enable(0, wait); err != nil {
		t.Fatal(err)
	}
	want(Starting)
	if wake := s.Step(time.Second, false, false); wake != wait {
		t.Errorf("wakes at %v", wake)
	}
	want(Starting)
	if wake := s.Step(wait, false, false); wake != machine.Never {
		t.Errorf("wakes at %v", wake)
	}
	want(On)
	s.Disable(true)
	want(Stopping)
	if err := s.Enable(wait, wait); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("enabled while it stops: %v", err)
	}
	s.Step(wait, true, true)
	want(Stopping)
	s.Step(wait, true, false)
	want(Off)
	if err := s.Enable(0, wait); err != nil {
		t.Fatal(err)
	}
	s.Step(time.Second, true, false)
	want(On) // every net has been heard
	s.Disable(false)
	want(Off)
	if err := s.Enable(0, 0); err != nil {
		t.Fatal(err)
	}
	want(On)
}

// TestSilence: a net is down when nothing was heard on it for the given time, and up with the
// next message.
func TestSilence(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-16")
	const timeout = 110 * time.Second
	var s Silence
	s.Begin(time.Second)
	for _, step := range []struct {
		now, heard time.Duration
		ok         bool
		down, ask  bool
		wake       time.Duration
	}{
		{time.Second, 0, false, false, false, time.Second + timeout/2},
		{timeout, 0, false, false, true, time.Second + timeout},
		{timeout, 0, false, false, false, time.Second + timeout},
		{timeout, timeout, true, false, false, timeout + timeout/2},
		{timeout + timeout/2, timeout, true, false, true, 2 * timeout},
		{2 * timeout, timeout, true, true, false, machine.Never},
		{2*timeout + 1, timeout, true, true, false, machine.Never},
		{2*timeout + 2, 2*timeout + 2, true, false, false, 2*timeout + 2 + timeout/2},
	} {
		before := s.Down()
		changed, ask, wake := s.Step(step.now, timeout, step.heard, step.ok)
		if s.Down() != step.down || ask != step.ask || wake != step.wake || changed != (before != step.down) {
			t.Errorf("at %v: down %v, wakes at %v, changed %v, asks %v", step.now, s.Down(), wake, changed, ask)
		}
	}
}

// TestSilenceChanged: the time-out becomes shorter, and a net has already been silent for longer.
// Its nodes are pinged before it counts as down. A longer time-out brings the net up again.
func TestSilenceChanged(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-16")
	const long, short = 110 * time.Second, 20 * time.Second
	for name, asked := range map[string]time.Duration{"not asked yet": 50 * time.Second, "asked": 60 * time.Second} {
		var s Silence
		s.Begin(0)
		s.Step(asked, long, 0, false)
		_, ask, wake := s.Step(asked, short, 0, false)
		if s.Down() || ask != (asked < long/2) || wake != asked+short/2 {
			t.Errorf("%s: down %v, asks %v, wakes at %v", name, s.Down(), ask, wake)
		}
		changed, _, wake := s.Step(wake, short, 0, false)
		if !changed || !s.Down() || wake != machine.Never {
			t.Errorf("%s: down %v without an answer, wakes at %v", name, s.Down(), wake)
		}
		if changed, _, _ := s.Step(asked+short, long, 0, false); !changed || s.Down() {
			t.Errorf("%s: down %v, though it may be silent for longer", name, s.Down())
		}
	}
}
