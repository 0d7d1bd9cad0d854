package socklnd

import (
	"sync/atomic"
	"time"
)

// polling lets one reader of a driver at a time look again, instead of waiting
// (Config.BusyPoll).
type polling struct {
	limit time.Duration
	taken atomic.Bool
}

// begin reports whether the caller may look again until end, for limit at most.
func (p *polling) begin() bool { return p.limit > 0 && p.taken.CompareAndSwap(false, true) }
func (p *polling) end()        { p.taken.Store(false) }
