package machine_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnet/machine"
)

func TestRunnerTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wakes := map[string]time.Duration{"1m": time.Minute, "1s": time.Second, "never": machine.Never}
		r, got := newLog(machine.Config[string, notes]{Machine: log{func(now time.Duration, in string) time.Duration {
			if in == "" || in == "never" {
				return machine.Never
			}
			return now + wakes[in]
		}}})
		for _, in := range []string{"1s", "1m", "1s", "never", "1m", "1s", "1m"} {
			r.Do(in)
			time.Sleep(400 * time.Millisecond)
		}
		time.Sleep(time.Hour)
		r.Do("1m")
		r.Close()
		r.Do("1s")
		time.Sleep(time.Hour)
		want := []string{
			`0s "1s"`, `400ms "1m"`, `800ms "1s"`, `1.2s "never"`, `1.6s "1m"`, `2s "1s"`, `2.4s "1m"`,
			`1m2.4s ""`, `1h0m2.8s "1m"`,
		}
		if diff := cmp.Diff(want, *got); diff != "" {
			t.Error("steps (-want +got):\n", diff)
		}
		if diff := cmp.Diff(machine.Stats{Steps: 9}, r.Stats()); diff != "" {
			t.Error("stats (-want +got):\n", diff)
		}
	})
}

// slowClock delays its timers, cannot stop them, and counts them.
type slowClock struct {
	machine.Clock
	delay  time.Duration
	timers *int
}

type deafTimer struct{}

func (deafTimer) Stop() bool { return false }

func (c slowClock) AfterFunc(d time.Duration, f func()) machine.Timer {
	*c.timers++
	c.Clock.AfterFunc(d+c.delay, f)
	return deafTimer{}
}

// TestRunnerReplacedTimer: a timer that was replaced does not wake the machine too early, and
// does not affect the current timer.
func TestRunnerReplacedTimer(t *testing.T) {
	for delay, late := range map[time.Duration]uint64{0: 0, 10 * time.Millisecond: 0, 11 * time.Millisecond: 1} {
		synctest.Test(t, func(t *testing.T) {
			timers := 0
			r, got := newLog(machine.Config[string, notes]{
				Clock: slowClock{machine.RealClock(), delay, &timers},
				Machine: log{func(now time.Duration, in string) time.Duration {
					if in == "" {
						return machine.Never
					}
					return now + time.Duration(len(in))*time.Second
				}},
			})
			for _, in := range []string{"333", "22", "1"} {
				r.Do(in)
			}
			time.Sleep(500 * time.Millisecond)
			r.Do("7777777") // the three earlier timers run after this, and find nothing to do
			time.Sleep(time.Minute)
			r.Close()
			want := []string{`0s "333"`, `0s "22"`, `0s "1"`, `500ms "7777777"`, fmt.Sprintf("%v %q", 7500*time.Millisecond+delay, "")}
			if diff := cmp.Diff(want, *got); diff != "" {
				t.Error("steps (-want +got):\n", diff)
			}
			if timers != 4 {
				t.Errorf("set %d timers, want 4", timers)
			}
			if n := r.Stats().LateWakes; n != late {
				t.Errorf("%d late wakes with a delay of %v", n, delay)
			}
		})
	}
}

// leapingClock is the clock of a system that was suspended: its time includes the suspension, and its timers
// do not.
type leapingClock struct {
	machine.Clock
	suspended time.Duration
}

func (c *leapingClock) Now() time.Duration { return c.Clock.Now() + c.suspended }

// TestRunnerSuspended: a timer is overdue, because the system was suspended. The next step does not wait for
// that timer: the Runner sets another one.
func TestRunnerSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &leapingClock{Clock: machine.RealClock()}
		r, got := newLog(machine.Config[string, notes]{Clock: clock, Machine: log{func(now time.Duration, in string) time.Duration {
			switch in {
			case "before":
				return now + 10*time.Minute
			case "after":
				return now + time.Second
			}
			return machine.Never
		}}})
		r.Do("before")
		clock.suspended = time.Hour
		time.Sleep(time.Second)
		r.Do("after")
		time.Sleep(time.Hour)
		r.Close()
		if diff := cmp.Diff([]string{`0s "before"`, `1h0m1s "after"`, `1h0m2s ""`}, *got); diff != "" {
			t.Error("steps (-want +got):\n", diff)
		}
	})
}

// TestRunnerBadWake: a machine that asks to be woken in the past neither stops the Runner nor
// makes it run without pause.
func TestRunnerBadWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var faults []string
		r, got := newLog(machine.Config[string, notes]{
			Machine: log{func(now time.Duration, in string) time.Duration {
				if now >= 2*time.Second+2*time.Millisecond {
					return machine.Never
				}
				return now - time.Duration(len(in))*time.Second
			}},
			Fault: func(err error) { faults = append(faults, err.Error()) },
		})
		time.Sleep(2 * time.Second)
		r.Do("x")
		time.Sleep(time.Second)
		r.Close()
		if diff := cmp.Diff([]string{`2s "x"`, `2.001s ""`, `2.002s ""`}, *got); diff != "" {
			t.Error("steps (-want +got):\n", diff)
		}
		if diff := cmp.Diff([]string{"step 1 at 2s: wake 1s is not later"}, faults); diff != "" {
			t.Error("faults (-want +got):\n", diff)
		}
		if s := r.Stats(); s.BadWakes != 2 {
			t.Error(s.BadWakes, "bad wakes, want 2")
		}
	})
}
