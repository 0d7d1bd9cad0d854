package socklnd

import (
	"sync/atomic"
	"time"
)

// polling lets one reader of a driver at a time busy-poll instead of blocking (Config.BusyPoll).
// The reader polls the sockets of all readers. It reads when its own has data, and stops when another
// one has, so that the Go scheduler runs the other reader in the same thread.
type polling struct {
	limit   time.Duration
	taken   atomic.Bool
	pollSet pollSet
}

// begin reports whether the caller may poll, for limit at most, until it calls end.
func (p *polling) begin() bool { return p.limit > 0 && p.taken.CompareAndSwap(false, true) }
func (p *polling) end()        { p.taken.Store(false) }
