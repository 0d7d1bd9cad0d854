package socklnd

import (
	"sync/atomic"
	"time"
)

// polling lets one reader of a driver at a time look again, instead of waiting
// (Config.BusyPoll). It looks at the sockets of all: at one of another reader it stops,
// since the scheduler then finds that reader ready and runs it in the same thread.
type polling struct {
	limit time.Duration
	taken atomic.Bool
	nest  nest
}

// begin reports whether the caller may look again until end, for limit at most.
func (p *polling) begin() bool { return p.limit > 0 && p.taken.CompareAndSwap(false, true) }
func (p *polling) end()        { p.taken.Store(false) }
