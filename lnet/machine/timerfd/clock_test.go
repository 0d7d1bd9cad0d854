package timerfd

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ulnet/lnet/machine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds the wait for an event that must come.
const patience = 60 * time.Second

func await(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatal("a timer does not run")
	}
}

// TestTimers: timers of all lengths run once and not too early, except those that were stopped.
// Those that were reset run at their new time.
func TestTimers(t *testing.T) {
	c := NewClock()
	defer c.Close()
	r := rand.New(rand.NewPCG(1, 2))
	var (
		mu   sync.Mutex
		runs = make([]int, 300)
		all  sync.WaitGroup
	)
	expect := func(i int, d time.Duration) func() {
		at := c.Now() + d
		return func() {
			mu.Lock()
			defer mu.Unlock()
			if runs[i]++; runs[i] == 1 {
				all.Done()
			}
			if now := c.Now(); now < at {
				t.Errorf("timer %d of %v is %v early", i, d, at-now)
			}
		}
	}
	stopped := 0
	for i := range runs {
		d := time.Duration(r.Int64N(int64(20 * time.Millisecond)))
		all.Add(1)
		timer := c.AfterFunc(d+time.Minute*time.Duration(i%3), expect(i, d))
		switch i % 3 {
		case 1:
			if !timer.Stop() || timer.Stop() {
				t.Errorf("timer %d: not stopped, or twice", i)
			}
			stopped++
			all.Done()
		case 2:
			if !timer.(interface{ Reset(time.Duration) bool }).Reset(d) {
				t.Errorf("timer %d was not pending", i)
			}
		}
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	await(t, done)
	mu.Lock()
	defer mu.Unlock()
	if once := len(runs) - stopped; slices.Max(runs) != 1 || sum(runs) != once {
		t.Errorf("%d runs of %d timers, the most of one %d", sum(runs), once, slices.Max(runs))
	}
	if c.timers.First() != nil {
		t.Error("timers are left")
	}
}

func sum(v []int) (s int) {
	for _, n := range v {
		s += n
	}
	return s
}

// TestClose: the timers of a closed clock run, both those that were pending and later ones, and
// can be stopped.
func TestClose(t *testing.T) {
	c := NewClock()
	pending, later := make(chan struct{}), make(chan struct{})
	c.AfterFunc(20*time.Millisecond, func() { close(pending) })
	forgotten := c.AfterFunc(time.Hour, func() { t.Error("stopped, but runs") })
	c.Close()
	c.Close()
	c.AfterFunc(time.Millisecond, func() { close(later) })
	await(t, pending)
	await(t, later)
	if !forgotten.Stop() {
		t.Error("a timer that was pending cannot be stopped")
	}
}

// TestExtremes: a timer of the longest duration stays pending, also in a closed clock; one of the
// shortest runs at once. Neither keeps later timers from running.
func TestExtremes(t *testing.T) {
	c := NewClock()
	defer c.Close()
	first := c.AfterFunc(math.MaxInt64, func() { t.Error("runs before its 292 years are over") })
	last := c.AfterFunc(math.MaxInt64, func() { t.Error("runs before its 292 years are over") })
	for _, d := range []time.Duration{math.MinInt64, time.Millisecond} {
		ran := make(chan struct{})
		c.AfterFunc(d, func() { close(ran) })
		await(t, ran)
	}
	if !first.Stop() {
		t.Error("the timer of 292 years is not pending")
	}
	c.Close()
	if !last.Stop() {
		t.Error("the timer of 292 years is not pending in a closed clock")
	}
}

// TestRunner: a runner wakes its machine, again and again with the same timer.
func TestRunner(t *testing.T) {
	c := NewClock()
	defer c.Close()
	m := &ticker{done: make(chan struct{})}
	r := machine.NewRunner(machine.Config[int, int]{Machine: m, Clock: c, Apply: func(*int) {}})
	r.Do(0)
	await(t, m.done)
	r.Close()
}

// ticker wants to be woken each millisecond.
type ticker struct {
	steps int
	done  chan struct{}
}

func (m *ticker) Step(now time.Duration, _ int, _ *int) time.Duration {
	if m.steps++; m.steps == 10 {
		close(m.done)
	}
	return now + time.Millisecond
}

// TestAllocations: starting a timer again, and its expiry, allocate nothing.
func TestAllocations(t *testing.T) {
	c := NewClock()
	defer c.Close()
	rang := make(chan struct{})
	timer := c.AfterFunc(0, func() { rang <- struct{}{} }).(interface{ Reset(time.Duration) bool })
	await(t, rang)
	if n := testing.AllocsPerRun(200, func() {
		timer.Reset(50 * time.Microsecond)
		<-rang
	}); n > 0 {
		t.Errorf("%v allocations each time", n)
	}
}
