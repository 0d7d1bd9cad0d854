package engine

import (
	"time"

	"ulnet/lnet/machine"
)

// pauses keeps the time that does not count: in which this node stood still,
// as it notices when it is stepped later than it wanted to be (CH-35, CH-A16).
// Machines count in active time, which is the time of their shell less all
// pauses, so that every stamp and deadline is moved by a pause at once.
type pauses struct {
	limit  time.Duration // being late by less is no pause
	skew   time.Duration // all pauses so far
	before time.Duration // those before the last one
	began  time.Duration // when that began, in the shell's time
	wake   time.Duration // when the machine wanted to be stepped
	count  uint64
}

func (p *pauses) init(limit time.Duration) { p.limit, p.wake = limit, machine.Never }

// enter begins a step and returns the active time, and how long a pause has
// just lasted.
func (p *pauses) enter(now time.Duration) (active, missed time.Duration) {
	if missed = now - p.wake; missed > p.limit {
		p.before, p.began = p.skew, p.wake
		p.skew += missed
		p.count++
	} else {
		missed = 0
	}
	return now - p.skew, missed
}

// leave ends a step and turns an instant of active time into the wake.
func (p *pauses) leave(now, active time.Duration) time.Duration {
	p.wake = machine.Never
	if active < machine.Never-p.skew {
		p.wake = max(active+p.skew, now+1)
	}
	return p.wake
}

// stamp turns the time at which a message was received into active time.
func (p *pauses) stamp(at time.Duration) time.Duration {
	switch {
	case p.count > 0 && at <= p.began:
		return at - p.before
	case p.count > 0 && at < p.began+p.skew-p.before:
		return p.began - p.before // in the pause itself
	}
	return at - p.skew
}
