package machine

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	minWake   = time.Millisecond      // a wake that is not later than now is moved to now plus minWake
	lateWake  = 10 * time.Millisecond // a timer that runs later than its wake by more than this counts as late
	timerSlip = time.Millisecond      // a call of fire that comes at most this long before timerAt is by the present timer; an earlier one is by a timer that was replaced
	keptOuts  = 16                    // number of outputs whose memory is kept
)

// Config has the parameters of a [Runner].
type Config[In, Out any] struct {
	Machine Machine[In, Out] // required; from now on stepped by the Runner alone
	Clock   Clock            // clock of the timer; required
	// Apply carries out the outputs of one step; required. It is called in the order
	// of the steps, by one goroutine at a time, without a lock, and may call Do
	// and Offer. Apply owns out until Apply returns; it may keep memory of out.
	Apply func(out *Out)
	// Merge is called before Apply with the outputs of several steps that were made while the
	// effects of earlier ones were applied. It may move effects to earlier outputs. It is called
	// like Apply. May be nil.
	Merge func(outs []*Out)
	// Turn is how many outputs the caller of Do applies before it leaves the rest to a timer, for
	// machines whose effects may cause inputs without end. 0: no bound.
	Turn int
	// Queue is how many inputs Offer holds. 0: it refuses all.
	Queue int
	// Fault is called once, without a lock, when the machine returns a wake that is not later than
	// now. The machine is woken a millisecond after now instead. The same happens with further
	// wakes of that kind, but these are only counted in Stats. May be nil.
	Fault func(error)
}

// Stats counts what a [Runner] has done.
type Stats struct {
	Steps     uint64 // steps of the machine
	Dropped   uint64 // inputs that Offer refused
	MaxQueue  int    // most inputs that waited at a time
	LateWakes uint64 // timers that ran more than 10 ms after the wake
	BadWakes  uint64 // wakes not later than now, which had to be moved
}

// Runner is the shell of one machine: it steps the machine on inputs and timers and
// applies its effects. Any goroutine may bring inputs, in two ways:
//
//   - Do steps at once and never drops. If no other goroutine is applying effects,
//     the caller applies them, including those of other goroutines' steps, before
//     Do returns. Config.Turn bounds that.
//   - Offer leaves the input to Run, in a bounded queue. When that is full, the
//     newest input is dropped: the caller learns it at once and still owns the
//     input. It is for messages that are repeated anyway, as in gossip; others go
//     by Do.
//
// The machine is first woken after its first step.
type Runner[In, Out any] struct {
	cfg Config[In, Out]

	mu       sync.Mutex
	changed  sync.Cond // signalled when applying, closed or n changes; mu guards all below
	queue    []In      // inputs that wait; a ring of cfg.Queue places
	head, n  int
	pending  []*Out // outputs of steps, to be applied after those in batch
	batch    []*Out // outputs that are being applied; the lists batch and pending exchange their memory each time
	free     []*Out
	applying bool
	waits    bool // applying is true, but no goroutine applies effects until a timer begins the next turn
	closed   bool
	wake     time.Duration
	alarm    Alarm         // wakes the machine
	timerAt  time.Duration // when alarm is set to; Never: it is not set
	stats    Stats
	broken   error // error of the first bad wake, for cfg.Fault; nil: none, or Fault was called
}

// NewRunner returns a Runner. It does not step the machine before Do is called, or Offer and Run.
func NewRunner[In, Out any](cfg Config[In, Out]) *Runner[In, Out] {
	r := &Runner[In, Out]{
		cfg: cfg, queue: make([]In, cfg.Queue), wake: Never, timerAt: Never,
	}
	r.changed.L = &r.mu
	r.alarm = Alarm{Clock: cfg.Clock, Call: r.fire}
	return r
}

// Do steps the machine on the input in, which need not outlive the call. It returns true if the effects
// have been applied already. If not, another goroutine or a timer applies them soon; if Apply
// has called Do, they are applied after this Apply has returned. After Close it does nothing.
func (r *Runner[In, Out]) Do(in In) (applied bool) {
	r.mu.Lock()
	applied = !r.applying
	if !r.closed {
		r.step(r.cfg.Clock.Now(), in)
		r.apply()
	}
	r.mu.Unlock()
	return applied
}

// Offer queues the input in for Run, and reports whether it has queued it. It never blocks. A
// queued input must own its memory: it outlives the call.
func (r *Runner[In, Out]) Offer(in In) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.n == len(r.queue) {
		r.stats.Dropped++
		return false
	}
	r.queue[(r.head+r.n)%len(r.queue)] = in
	r.n++
	r.stats.MaxQueue = max(r.stats.MaxQueue, r.n)
	r.changed.Broadcast()
	return true
}

// Run steps the machine on offered inputs until ctx is done, then closes the Runner and
// returns. It takes an input only when the effects of earlier steps are applied. So the bound
// of the queue bounds all inputs and effects that wait.
func (r *Runner[In, Out]) Run(ctx context.Context) {
	defer context.AfterFunc(ctx, r.Close)()
	r.mu.Lock()
	for !r.closed || r.applying {
		if r.n == 0 || r.applying {
			r.changed.Wait()
			continue
		}
		in := r.queue[r.head]
		r.queue[r.head] = *new(In)
		r.head, r.n = (r.head+1)%len(r.queue), r.n-1
		r.step(r.cfg.Clock.Now(), in)
		r.apply()
	}
	r.mu.Unlock()
}

// Close ends stepping and returns when the effects of all steps are applied.
// Apply must not call it.
func (r *Runner[In, Out]) Close() {
	r.mu.Lock()
	r.close()
	r.resume()
	for r.applying {
		r.changed.Wait()
	}
	r.mu.Unlock()
}

// CloseWithin is Close with a time limit: it waits for at most d. With 0 it does not wait at
// all, so that Apply may call it. It reports whether the effects of all steps are applied: if
// not, another goroutine is still applying them.
func (r *Runner[In, Out]) CloseWithin(d time.Duration) (applied bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.close()
	r.resume()
	if !r.applying || d <= 0 {
		return !r.applying
	}
	expired := false
	timer := r.cfg.Clock.AfterFunc(d, func() {
		r.mu.Lock()
		expired = true
		r.mu.Unlock()
		r.changed.Broadcast()
	})
	defer timer.Stop()
	for r.applying && !expired {
		r.changed.Wait()
	}
	return !r.applying
}

// close ends the stepping. The caller holds r.mu.
func (r *Runner[In, Out]) close() {
	r.closed = true
	r.changed.Broadcast()
	r.alarm.Stop()
}

// Stats returns the runner's counters.
func (r *Runner[In, Out]) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// Inspect calls f while the machine is not being stepped, so that f can copy its state.
// f must not call the Runner.
func (r *Runner[In, Out]) Inspect(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// step steps the machine. The caller holds r.mu and calls apply next.
func (r *Runner[In, Out]) step(now time.Duration, in In) {
	var out *Out
	if n := len(r.free); n > 0 {
		out, r.free = r.free[n-1], r.free[:n-1]
	} else {
		out = new(Out)
	}
	r.wake = r.cfg.Machine.Step(now, in, out)
	r.pending = append(r.pending, out)
	r.stats.Steps++
	if r.wake <= now {
		if r.stats.BadWakes++; r.stats.BadWakes == 1 {
			r.broken = fmt.Errorf("step %d at %v: wake %v is not later", r.stats.Steps, now, r.wake)
		}
		r.wake = now + minWake
	}
	r.setTimer(now)
}

// apply applies the pending effects, unless another goroutine is doing so. The caller holds r.mu. apply
// releases it while it applies effects, and locks it again before it returns.
func (r *Runner[In, Out]) apply() {
	if r.applying {
		return
	}
	r.applying = true
	r.applyAll()
}

// setTimer makes sure that a timer wakes the machine. If the timer is set for an instant before the wake, setTimer
// leaves it, and it is set again when it has fired. That saves work, because most inputs put off the wake, and
// timers fire far less often.
func (r *Runner[In, Out]) setTimer(now time.Duration) {
	if r.closed || r.wake == Never || now < r.timerAt && r.timerAt <= r.wake {
		return
	}
	r.timerAt = r.wake
	r.alarm.Set(now, r.wake)
}

// fire is called by a timer: the present one, or one that was replaced too late to be
// stopped.
func (r *Runner[In, Out]) fire() {
	r.mu.Lock()
	now := r.cfg.Clock.Now()
	if r.timerAt-now <= timerSlip {
		r.timerAt = Never
	}
	switch {
	case r.closed:
	case now < r.wake:
		r.setTimer(now)
	default:
		if now-r.wake > lateWake {
			r.stats.LateWakes++
		}
		r.step(now, *new(In))
		r.apply()
	}
	r.mu.Unlock()
}
