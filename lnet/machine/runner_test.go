package machine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnet/machine"
)

// log is a machine that notes each step in its output.
type log struct {
	wake func(now time.Duration, in string) time.Duration // nil: Never
}

type notes struct{ text []byte }

func (n *notes) Reset() { n.text = n.text[:0] }

func (m log) Step(now time.Duration, in string, out *notes) time.Duration {
	out.text = fmt.Appendf(out.text, "%v %q", now, in)
	if m.wake == nil {
		return machine.Never
	}
	return m.wake(now, in)
}

// newLog returns a Runner of a log, and what it noted, for use when it is idle.
func newLog(cfg machine.Config[string, notes]) (*machine.Runner[string, notes], *[]string) {
	var got []string
	if cfg.Machine == nil {
		cfg.Machine = log{}
	}
	if cfg.Clock == nil {
		cfg.Clock = machine.RealClock()
	}
	if cfg.Apply == nil {
		cfg.Apply = func(out *notes) { got = append(got, string(out.text)) }
	}
	return machine.NewRunner(cfg), &got
}

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

// TestRunnerReplacedTimer: a timer that was replaced wakes nobody too early, and
// leaves the one that is set alone.
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
			r.Do("7777777") // the three timers find nothing to do
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

// leapingClock is a clock of a system that is suspended: timers do not see it.
type leapingClock struct {
	machine.Clock
	suspended time.Duration
}

func (c *leapingClock) Now() time.Duration { return c.Clock.Now() + c.suspended }

// TestRunnerSuspended: who relied on a timer that is overdue gets another one.
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

// TestRunnerBadWake: a machine that wants to be woken in the past does not stop
// the shell, and does not spin.
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

// TestRunnerApply: Do may be called while effects are applied, by Apply and by
// others. It steps at once, on memory that the caller then uses for something else.
func TestRunnerApply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		depth := 0
		held := make(chan struct{})
		var r *machine.Runner[[]byte, notes]
		r = machine.NewRunner(machine.Config[[]byte, notes]{
			Machine: bytesLog{}, Clock: machine.RealClock(),
			Apply: func(out *notes) {
				depth++
				got = append(got, fmt.Sprint(depth, string(out.text)))
				switch string(out.text) {
				case "a":
					r.Do([]byte("a1"))
					r.Do([]byte("a2"))
				case "a2":
					<-held
				}
				depth--
			},
		})
		var all sync.WaitGroup
		all.Go(func() { r.Do([]byte("a")) })
		synctest.Wait()
		memory := []byte("b")
		r.Do(memory) // returns, though a2 is being applied
		memory[0] = 'c'
		r.Do(memory)
		closed := false
		all.Go(func() { r.Close(); closed = true })
		synctest.Wait()
		if closed {
			t.Error("Close returned while effects were being applied")
		}
		close(held)
		all.Wait()
		if diff := cmp.Diff([]string{"1a", "1a1", "1a2", "1b", "1c"}, got); diff != "" {
			t.Error("effects (-want +got):\n", diff)
		}
	})
}

type bytesLog struct{}

func (bytesLog) Step(_ time.Duration, in []byte, out *notes) time.Duration {
	out.text = append(out.text, in...)
	return machine.Never
}

// counter is a machine whose outputs tell their order.
type counter struct{ n int }

func (c *counter) Step(now time.Duration, _ struct{}, out *int) time.Duration {
	c.n++
	*out = c.n
	return now + time.Duration(c.n%7)*time.Microsecond + 1
}

// TestRunnerConcurrent: inputs from everywhere, timers, and effects that cause
// inputs; effects come in the order of the steps, by one goroutine at a time.
func TestRunnerConcurrent(t *testing.T) {
	const callers, calls = 8, 500
	var applying, accepted atomic.Int64
	last := 0
	var m counter
	var r *machine.Runner[struct{}, int]
	r = machine.NewRunner(machine.Config[struct{}, int]{
		Machine: &m, Clock: machine.BootClock(), Queue: 10,
		Apply: func(out *int) {
			if applying.Add(1) != 1 {
				t.Error("two goroutines apply")
			}
			if *out != last+1 {
				t.Errorf("effects of step %d after those of %d", *out, last)
			}
			last = *out
			if last%5 == 0 {
				r.Do(struct{}{})
			}
			applying.Add(-1)
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running, all sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	for range callers {
		all.Go(func() {
			for n := range calls {
				r.Do(struct{}{})
				r.Inspect(func() {
					if m.n <= n {
						t.Errorf("%d steps after %d inputs", m.n, n+1)
					}
				})
				if r.Offer(struct{}{}) {
					accepted.Add(1)
				}
			}
		})
	}
	all.Wait()
	cancel()
	running.Wait()
	s := r.Stats()
	if uint64(last) != s.Steps || s.Steps < callers*calls || uint64(accepted.Load())+s.Dropped != callers*calls {
		t.Errorf("%+v, %d applied, %d accepted", s, last, accepted.Load())
	}
}

// TestRunnerQueue: the queue is bounded, also while effects hold up the rest, and
// drops what comes last.
func TestRunnerQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		var got []string
		r, _ := newLog(machine.Config[string, notes]{Queue: 3, Apply: func(out *notes) {
			got = append(got, string(out.text))
			<-held
		}})
		offer := func(in string) {
			t.Helper()
			if !r.Offer(in) {
				t.Error("refused", in)
			}
		}
		offer("a")
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { r.Run(ctx) })
		synctest.Wait() // a is being applied
		for _, in := range []string{"b", "c", "d"} {
			offer(in)
		}
		if r.Offer("e") || r.Offer("f") {
			t.Error("more than three inputs wait")
		}
		r.Do("now") // passes the queue
		held <- struct{}{}
		held <- struct{}{}
		synctest.Wait() // a and now have been applied, b is being applied
		offer("g")
		close(held)
		synctest.Wait()
		cancel()
		all.Wait()
		if r.Offer("late") {
			t.Error("accepted after the end")
		}
		want := []string{`0s "a"`, `0s "now"`, `0s "b"`, `0s "c"`, `0s "d"`, `0s "g"`}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error("steps (-want +got):\n", diff)
		}
		if diff := cmp.Diff(machine.Stats{Steps: 6, Dropped: 3, MaxQueue: 3}, r.Stats()); diff != "" {
			t.Error("stats (-want +got):\n", diff)
		}
	})
}

// TestRunnerEnds: Run ends when its context is done or when the Runner is closed,
// whatever is queued, and not while effects are being applied elsewhere.
func TestRunnerEnds(t *testing.T) {
	for _, how := range []string{"context", "close"} {
		synctest.Test(t, func(t *testing.T) {
			held := make(chan struct{})
			r, _ := newLog(machine.Config[string, notes]{Queue: 3, Apply: func(*notes) { <-held }})
			var all sync.WaitGroup
			all.Go(func() { r.Do("held") })
			synctest.Wait()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := false
			all.Go(func() { r.Run(ctx); ended = true })
			r.Offer("never stepped")
			if how == "context" {
				cancel()
			} else {
				all.Go(r.Close)
			}
			synctest.Wait()
			if ended {
				t.Error("Run returned while effects were being applied")
			}
			close(held)
			all.Wait()
			if n := r.Stats().Steps; n != 1 {
				t.Error(n, "steps, want 1")
			}
		})
	}
}

// countdown sets its timer anew in each step.
type countdown struct{ left time.Duration }

func (c *countdown) Step(now time.Duration, in []byte, out *notes) time.Duration {
	c.left -= time.Second
	out.text = append(out.text, in...)
	return now + c.left
}

func TestRunnerAllocatesNothing(t *testing.T) {
	for _, clock := range []machine.Clock{machine.RealClock(), machine.BootClock()} {
		r := machine.NewRunner(machine.Config[[]byte, notes]{
			Machine: &countdown{left: 1000 * time.Hour}, Clock: clock, Apply: func(*notes) {}, Queue: 1,
		})
		in := []byte(strings.Repeat("x", 100))
		r.Do(in)
		if n := testing.AllocsPerRun(1000, func() { r.Do(in) }); n != 0 {
			t.Errorf("Do allocates %v times", n)
		}
		if n := testing.AllocsPerRun(1000, func() { r.Offer(in) }); n != 0 {
			t.Errorf("Offer allocates %v times", n)
		}
		r.Close()
	}
}

func TestReset(t *testing.T) {
	out, list := notes{text: make([]byte, 3, 10)}, []int{1, 2}
	machine.Reset(&out)
	machine.Reset(&list)
	if len(out.text) != 0 || cap(out.text) != 10 || list != nil {
		t.Error("left", out.text, cap(out.text), list)
	}
	if n := testing.AllocsPerRun(100, func() { machine.Reset(&out) }); n != 0 {
		t.Error("allocates", n, "times")
	}
}
