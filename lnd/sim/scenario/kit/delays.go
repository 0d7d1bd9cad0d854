package kit

import "time"

// Delays sums up many delays, each of which is the time until something was noticed.
type Delays struct {
	Earliest time.Duration // shortest delay; 0 if there was none
	Latest   time.Duration // longest delay
	count    uint64
	total    time.Duration
}

// Add adds a delay.
func (d *Delays) Add(delay time.Duration) {
	if d.count == 0 || delay < d.Earliest {
		d.Earliest = delay
	}
	d.count++
	d.Latest = max(d.Latest, delay)
	d.total += delay
}

// Mean is the average delay; 0 if there was none.
func (d *Delays) Mean() time.Duration { return d.total / time.Duration(max(d.count, 1)) }
