package simlnd

import (
	"time"

	"ulnet/lnet/machine"
)

// clock is a machine.Clock that shows a host's time.
type clock Host

// Now is the time of the host's latest step.
func (c *clock) Now() time.Duration { return time.Duration((*Host)(c).now.Load()) }

// AfterFunc implements machine.Clock. Timers that are due at the same instant run in the order
// in which they were set. A timer never runs in the step that sets it.
func (c *clock) AfterFunc(d time.Duration, f func()) machine.Timer {
	h := (*Host)(c)
	t := &timer{host: h, call: machine.Deadline[func()]{Of: f}}
	h.mu.Lock()
	h.timers.Set(&t.call, c.Now()+max(d, 1))
	h.wake()
	h.mu.Unlock()
	return t
}

// timer is a pending call. Its fields are guarded by the host's lock.
type timer struct {
	host *Host
	call machine.Deadline[func()]
}

// Stop implements machine.Timer.
func (t *timer) Stop() bool {
	t.host.mu.Lock()
	defer t.host.mu.Unlock()
	return t.host.timers.Clear(&t.call)
}

// Reset makes the timer run d from now, like a new one, and reports whether it was pending.
func (t *timer) Reset(d time.Duration) bool {
	h := t.host
	h.mu.Lock()
	defer h.mu.Unlock()
	was := t.call.IsSet()
	h.timers.Set(&t.call, (*clock)(h).Now()+max(d, 1))
	h.wake()
	return was
}

// fire calls the functions of the timers that are due.
func (h *Host) fire(now time.Duration) {
	for {
		h.mu.Lock()
		due := h.timers.Pop(now)
		h.mu.Unlock()
		if due == nil {
			return
		}
		due.Of()
	}
}
