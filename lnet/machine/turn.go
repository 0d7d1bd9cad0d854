package machine

import "time"

// turnPause is how long after a turn the next one begins. It is not 0, so that under a virtual
// clock effects without end do not stop the time.
const turnPause = 10 * time.Microsecond

// applyAll applies effects until none are pending, or until the turn of this goroutine is over.
// The caller holds r.mu and has set r.applying. applyAll releases r.mu while it applies effects, and
// locks it again before it returns.
func (r *Runner[In, Out]) applyAll() {
	for applied := 0; len(r.pending) > 0; applied += len(r.batch) {
		if r.cfg.Turn > 0 && applied >= r.cfg.Turn && !r.closed {
			r.waits = true
			r.cfg.Clock.AfterFunc(turnPause, r.nextTurn)
			return
		}
		r.applyBatch()
	}
	r.applying = false
	r.changed.Broadcast()
}

// applyBatch applies all effects that are pending now. It releases r.mu while it applies them.
func (r *Runner[In, Out]) applyBatch() {
	broken := r.broken
	r.broken = nil
	r.batch, r.pending = r.pending, r.batch[:0]
	r.mu.Unlock()
	if broken != nil && r.cfg.Fault != nil {
		r.cfg.Fault(broken)
	}
	if r.cfg.Merge != nil && len(r.batch) > 1 {
		r.cfg.Merge(r.batch)
	}
	for _, out := range r.batch {
		r.cfg.Apply(out)
		Reset(out)
	}
	r.mu.Lock()
	r.free = append(r.free, r.batch[:min(len(r.batch), keptOuts-len(r.free))]...)
	clear(r.batch)
}

// nextTurn is called by a timer when the turn of another goroutine is over.
func (r *Runner[In, Out]) nextTurn() {
	r.mu.Lock()
	r.resume()
	r.mu.Unlock()
}

// resume goes on with effects that wait for the next turn. The caller holds r.mu.
func (r *Runner[In, Out]) resume() {
	if r.waits {
		r.waits = false
		r.applyAll()
	}
}

// Pending returns the number of steps whose effects wait until those of earlier steps are
// applied.
func (r *Runner[In, Out]) Pending() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending)
}
