package engine

import (
	"time"

	"ulnet/lnet/machine"
)

// pauses sums up the time in which this process did not run: a pause shows by a step that comes
// later than the machine asked for (CH-35, CH-A16). Machines count in active time: the time of
// the caller minus all pauses. So a pause shifts all time stamps and deadlines at once.
type pauses struct {
	limit  time.Duration // a delay shorter than this is no pause
	skew   time.Duration // sum of all pauses so far
	before time.Duration // sum of all pauses except the latest
	began  time.Duration // begin of the latest pause, in the caller's time
	wake   time.Duration // when the machine has asked to be stepped next, in the caller's time
	count  uint64
}

func (p *pauses) init(limit time.Duration) { p.limit, p.wake = limit, machine.Never }

// enter begins a step. It returns the active time, and the length of the pause that has just
// ended, if there was one.
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

// leave ends a step and converts the time of the next wake from active time to the caller's
// time.
func (p *pauses) leave(now, active time.Duration) time.Duration {
	p.wake = machine.Never
	if active < machine.Never-p.skew {
		p.wake = max(active+p.skew, now+1)
	}
	return p.wake
}

// stamp converts the time at which a message was received to active time.
func (p *pauses) stamp(at time.Duration) time.Duration {
	switch {
	case p.count > 0 && at <= p.began:
		return at - p.before
	case p.count > 0 && at < p.began+p.skew-p.before:
		return p.began - p.before // the message arrived during the latest pause
	}
	return at - p.skew
}
