//go:build ibverbs && cgo && linux

package ibv

import "sync/atomic"

// lease keeps memory pinned for a device: from its registration until that has ended and no
// posted work request names it. Every method is safe for concurrent use.
type lease struct {
	holders atomic.Int64
	end     func() // unpins and frees the memory; called once
}

// newLease returns a lease with one holder, the registration.
func newLease(end func()) *lease {
	l := &lease{end: end}
	l.holders.Store(1)
	return l
}

// hold adds a holder. It returns false if the lease has ended.
func (l *lease) hold() bool {
	for {
		n := l.holders.Load()
		if n == 0 {
			return false
		}
		if l.holders.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release takes a holder away. When no holder is left it ends the lease.
func (l *lease) release() {
	switch n := l.holders.Add(-1); {
	case n == 0:
		l.end()
	case n < 0:
		panic("ibv: memory is released more often than it is held")
	}
}
