package shell

import (
	"sync/atomic"
	"time"
)

// Patience is the time-out of a driver that is in force. It follows LNet's time-out for drivers, unless the
// configuration has one. Init makes it ready; any goroutine may call the other methods.
type Patience struct {
	inForce atomic.Int64
	given   bool
}

// Init sets the time-out. given says that the configuration has it.
func (p *Patience) Init(d time.Duration, given bool) {
	p.given = given
	p.inForce.Store(int64(d))
}

// Now returns the time-out.
func (p *Patience) Now() time.Duration { return time.Duration(p.inForce.Load()) }

// Follow sets the time-out to that of LNet, and reports whether that changes it.
func (p *Patience) Follow(d time.Duration) bool {
	return !p.given && d > 0 && p.inForce.Swap(int64(d)) != int64(d)
}
