package capture

import "time"

// clock measures how much time passes in a capture. It does not go by the stamps alone: the clock of a host may be
// set back, and the devices of one capture may have clocks that differ, so that the stamps go back and forth.
type clock struct {
	now   time.Duration // since the first packet
	lines [4]timeline   // those of the clocks that were seen, the latest one first
	known int
}

// timeline has the latest stamp of one of the clocks, and the time since the first packet then.
type timeline struct {
	at  time.Time
	now time.Duration
}

// Bounds of the steps of a clock, local policy.
const (
	disorder = time.Second // by which stamps of one clock go back, such as those of several queues of a device
	maxStep  = time.Hour   // for which a longer silence counts
)

// advance takes the stamp of the next packet. The stamp belongs to the timeline with the latest stamp that is not
// clearly later. If there is none, a new timeline begins, which takes no time.
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
	if l.now < c.now-disorder { // this clock has stood still while another one went on
		l.now = c.now
	}
	copy(c.lines[1:best+1], c.lines[:best])
	c.lines[0] = l
	c.now = max(c.now, l.now)
}
