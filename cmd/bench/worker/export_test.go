package worker

import "time"

// SetGrace sets how long a worker may take to end, and returns what puts it back.
func SetGrace(d time.Duration) (restore func()) {
	was := grace
	grace = d
	return func() { grace = was }
}
