package capture

import "time"

// clock measures how much time passes in a capture. The difference of two stamps is not enough for this: the clock
// of a host may be set back, and devices in one capture may have different clocks, so that the stamps go back and
// forth.
type clock struct {
	now   time.Duration // since the first packet
	lines [4]timeline   // one for each clock that was seen; the one of the latest packet first
	known int
}

// timeline has the latest stamp of one clock, and how long after the first packet that was.
type timeline struct {
	at  time.Time
	now time.Duration
}

// Bounds of the steps of a clock, local policy.
const (
	disorder = time.Second // stamps of one clock go back by no more than this, such as those of packets from several queues of a device
	maxStep  = time.Hour   // a longer silence counts as this much time
)

// advance takes the stamp of the next packet. Of the timelines whose latest stamp is at most disorder after this
// stamp, the one with the latest stamp gets it. If there is none, the stamp is that of a further clock: a new
// timeline begins, and no time passes.
func (c *clock) advance(at time.Time) {
	best := -1
	for i := range c.lines[:c.known] {
		if l := &c.lines[i]; at.Sub(l.at) >= -disorder && (best < 0 || l.at.After(c.lines[best].at)) {
			best = i
		}
	}
	l := timeline{at, c.now}
	if best >= 0 {
		l = c.lines[best]
		if step := at.Sub(l.at); step > 0 {
			l.at, l.now = at, l.now+min(step, maxStep)
		}
	} else {
		c.known = min(c.known+1, len(c.lines))
		best = c.known - 1
	}
	if l.now < c.now-disorder { // packets of another clock came meanwhile, and their time has passed, too
		l.now = c.now
	}
	copy(c.lines[1:best+1], c.lines[:best])
	c.lines[0] = l
	c.now = max(c.now, l.now)
}
