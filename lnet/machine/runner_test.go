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

// log is a machine that records each step in its output.
type log struct {
	wake func(now time.Duration, in string) time.Duration // wake of each step; nil: Never
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

// newLog returns a Runner of a log, and the log's notes, which may be read when the Runner is
// idle.
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

// TestRunnerApply: Do may be called while effects are applied, by Apply and by other
// goroutines. It steps the machine at once, so the caller may reuse the memory of the input.
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
		r.Do(memory) // Do returns although the output of a2 is being applied
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

// counter is a machine that numbers its outputs.
type counter struct{ n int }

func (c *counter) Step(now time.Duration, _ struct{}, out *int) time.Duration {
	c.n++
	*out = c.n
	return now + time.Duration(c.n%7)*time.Microsecond + 1
}

// TestRunnerMerge: outputs of steps that Apply has caused by calling Do are merged before they are
// applied. The output of a single step is not merged.
func TestRunnerMerge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *machine.Runner[string, notes]
		var got []string
		r, _ = newLog(machine.Config[string, notes]{
			Apply: func(out *notes) {
				if got = append(got, string(out.text)); len(got) == 1 {
					r.Do("b")
					r.Do("c")
				}
			},
			Merge: func(outs []*notes) {
				for _, out := range outs[1:] {
					outs[0].text = append(outs[0].text, out.text...)
					out.Reset()
				}
			},
		})
		r.Do("a")
		r.Do("d")
		if diff := cmp.Diff([]string{`0s "a"`, `0s "b"0s "c"`, "", `0s "d"`}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestRunnerConcurrent: inputs come from many goroutines, from timers, and from the effects of earlier inputs.
// Effects are applied in the order of the steps, by one goroutine at a time.
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

// TestRunnerQueue: the queue is limited, also while an effect is being applied, and the
// latest inputs are dropped.
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
		synctest.Wait() // the output of "a" is being applied
		for _, in := range []string{"b", "c", "d"} {
			offer(in)
		}
		if r.Offer("e") || r.Offer("f") {
			t.Error("more than three inputs wait")
		}
		r.Do("now") // Do does not wait for room in the queue
		held <- struct{}{}
		held <- struct{}{}
		synctest.Wait() // the outputs of "a" and "now" have been applied, that of "b" is being applied
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

// TestRunnerEnds: Run ends when its context is done or when the Runner is closed, whatever is
// queued, but not while another goroutine applies effects.
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

// countdown is a machine that sets its timer in each step.
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
