package node

import (
	"sync/atomic"

	"ulnet/portals"
)

// A brake makes a portal lazy while a sink on it has not all of its buffers
// posted: a PUT that finds none then waits in its connection until there is one
// again. It is on from the first buffer that is used, since others may be
// filling, by other connections, that nobody has heard of yet; a sink with
// few buffers has it on all the time. It lets go when enough buffers are posted,
// because what waits for other reasons, a PUT that nothing will ever match,
// must not block its connection for long.
type brake struct {
	table  *portals.Table
	portal int
	enough int64         // buffers at which it lets go; more than there are: never
	lazy   *atomic.Int64 // brakes that are on, of all sinks of the portal

	free atomic.Int64 // buffers posted and not used
	last atomic.Bool  // no buffer will be posted any more
	on   atomic.Bool
}

// posted says that a buffer is about to be posted, and whether it is the last.
func (b *brake) posted(last bool) {
	b.last.Store(last)
	b.free.Add(1)
}

// used says that a message has come into a buffer. It does not block.
func (b *brake) used() {
	b.free.Add(-1)
	b.pull()
}

// pull puts the brake on, unless the last buffer has been posted.
func (b *brake) pull() {
	if b.last.Load() || b.on.Swap(true) {
		return
	}
	b.lazy.Add(1)
	_ = b.table.SetLazy(b.portal) // fails for no portal that has MEs
}

// release lets go if there are enough buffers.
func (b *brake) release() {
	if b.free.Load() >= b.enough || b.last.Load() {
		b.off()
	}
}

func (b *brake) off() {
	if !b.on.Swap(false) || b.lazy.Add(-1) > 0 {
		return
	}
	_ = b.table.ClearLazy(b.portal)
	if b.lazy.Load() > 0 { // another sink has put its brake on meanwhile
		_ = b.table.SetLazy(b.portal)
	}
}
