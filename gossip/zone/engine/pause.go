package engine

import (
	"time"

	"ulnet/lnet/machine"
)

// pauses measures pauses of this node, such as those of a suspended machine. It detects a pause when a step
// comes after the instant that the machine asked for, and long after the last step (MS-A29). It does not
// matter whether a timer or a message caused the step. The machine counts in active time, which is the
// caller's time less all pauses, so that a pause defers every deadline by its length.
type pauses struct {
	limit time.Duration
	skew  time.Duration // sum of all pauses so far
	first time.Duration // when the machine was stepped first, in the caller's time; machine.Never before that step
	last  time.Duration // when the machine was stepped last, in the caller's time
	wall  uint64        // the last Input.Wall; 0: there was none
	asOf  time.Duration // when that was, in the caller's time
	wake  time.Duration // when the machine asked to be stepped next, in the caller's time
	owed  time.Duration // sum of the delays of consecutive late steps
	until time.Duration // active time before which this node files no suspicion, because it was paused or slow
}

func (p *pauses) init(limit time.Duration) {
	p.limit, p.first, p.wake = limit, machine.Never, machine.Never
}

// enter begins a step. It returns the active time and the length of the pause that has just ended,
// or 0. A machine that waits for something asks to be stepped at each heartbeat, so a gap of more
// than two heartbeats is a pause.
func (p *pauses) enter(now time.Duration) (active, missed time.Duration) {
	if p.wake < machine.Never && now-p.last > p.limit && now > p.wake {
		missed = now - max(p.wake, p.last)
		p.skew += missed
	}
	if p.first == machine.Never {
		p.first = now
	}
	p.last = now
	return now - p.skew, missed
}

// set takes the wall clock from an input. The clock may have been set since the first step, by hours if the
// host began with a wrong one, or was suspended.
func (p *pauses) set(wall uint64) {
	if wall > 0 {
		p.wall, p.asOf = wall, p.last
	}
}

// clock returns the wall clock: what it was at the first step (begin), or in the latest input that had it, plus the time
// since then. The later of the two counts.
func (p *pauses) clock(begin uint64) uint64 {
	begin += uint64(max(p.last-p.first, 0))
	if p.wall == 0 {
		return begin
	}
	return max(begin, p.wall+uint64(p.last-p.asOf))
}

// behind returns by how much a step is later than the wake that the machine asked for.
func (p *pauses) behind(now time.Duration) time.Duration { return max(now-p.wake, 0) }

// late returns the sum of the delays of this step and of the late steps just before it; 0 if this step is not
// late. If every step is a little late, the node never catches up, and messages of others may wait here all
// the time.
func (p *pauses) late(now time.Duration) time.Duration {
	by := p.behind(now)
	if by < p.limit/200 {
		p.owed = 0
		return 0
	}
	p.owed += by
	return p.owed
}

// leave ends a step. It converts the instant at which the machine wants to be stepped next from
// active time to the caller's time, and returns it.
func (p *pauses) leave(now, active time.Duration) time.Duration {
	p.wake = machine.Never
	if active < machine.Never-p.skew {
		p.wake = max(active+p.skew, now+1)
	}
	return p.wake
}

// paused is called after a pause. It drops all suspicions that were not filed yet, and lets this node file none for
// the time Config.Timeout, for which a neighbour may be silent.
func (m *Machine) paused(missed time.Duration) {
	m.stats.Pauses++
	m.stats.Missed += missed
	m.pauses.until = m.now + m.cfg.Timeout
	m.blind = blind{}
	for i := range m.links.list {
		l := &m.links.list[i]
		l.probing, l.doubted = false, false
		if l.state == held {
			l.state = up
		}
		if l.state == up {
			l.heard = m.now
		}
	}
}
