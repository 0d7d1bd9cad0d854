package worker

import "time"

// SetGrace sets the time that a worker may take to end, and returns a function that restores it.
func SetGrace(d time.Duration) (restore func()) {
	was := grace
	grace = d
	return func() { grace = was }
}

// SetPatience sets the longest wait for the next answers; 0: the default.
func (p *Process) SetPatience(d time.Duration) { p.cfg.Patience = d }
