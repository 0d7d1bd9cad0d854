package machine

import (
	"testing"
	"testing/synctest"
	"time"
)

// bootTime is a clock that counts suspensions of an invented system.
type bootTime struct {
	Clock
	suspended time.Duration
	looks     int
}

func (c *bootTime) Now() time.Duration {
	c.looks++
	return 5*time.Hour + c.Clock.Now() + c.suspended
}

// TestCountSuspensions: the clock that countSuspensions returns advances with the clock that it is given, and
// includes the length of a suspension from a millisecond after its end on. It reads the boot-time clock at most once
// per millisecond.
func TestCountSuspensions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := RealClock()
		boot := &bootTime{Clock: clock}
		c := countSuspensions(clock, boot)
		want := func(d time.Duration) {
			t.Helper()
			if now := c.Now(); now != d {
				t.Errorf("%v, want %v", now, d)
			}
		}
		for range 100 {
			want(0)
		}
		time.Sleep(time.Second)
		want(time.Second)
		boot.suspended = time.Hour
		time.Sleep(lookAgain)
		want(time.Hour + time.Second + lookAgain)
		for range 100 {
			want(time.Hour + time.Second + lookAgain)
		}
		boot.suspended -= time.Minute // a look whose goroutine had to wait: the clock does not go back
		time.Sleep(lookAgain)
		want(time.Hour + time.Second + 2*lookAgain)
		if boot.looks != 5 {
			t.Errorf("%d looks", boot.looks)
		}
		fired := time.Duration(0)
		c.AfterFunc(time.Second, func() { fired = clock.Now() })
		time.Sleep(time.Minute)
		synctest.Wait()
		if fired != 2*time.Second+2*lookAgain {
			t.Errorf("the timer fired at %v", fired)
		}
	})
}

// TestCountSuspensionsHere: on this system the clock does not go back, and is not ahead of the given one by more than the
// system can have been suspended.
func TestCountSuspensionsHere(t *testing.T) {
	boot := BootClock() // before the other clock, so that it is ahead of that one
	clock := RealClock()
	c := CountSuspensions(clock)
	var last time.Duration
	for clock.Now() < 10*time.Millisecond {
		before := clock.Now()
		now := c.Now()
		if now < last || now < before || now > boot.Now() {
			t.Fatalf("%v after %v; the given clock was at %v, that of the system is at %v", now, last, before, boot.Now())
		}
		last = now
	}
}

func BenchmarkCountSuspensions(b *testing.B) {
	for name, c := range map[string]Clock{"real": RealClock(), "boot": BootClock(), "counted": CountSuspensions(RealClock())} { // any order: the clocks are independent
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c.Now()
			}
		})
	}
}
