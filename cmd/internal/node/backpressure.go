package node

import (
	"sync/atomic"

	"ulnet/portals"
)

// backpressure makes a portal lazy while a sink on it has not posted all of its buffers. A PUT
// that finds no buffer then waits in its connection until one is posted. The backpressure starts
// as soon as the first buffer is used, because messages of other connections may already be
// filling the other buffers. For a sink with few buffers it is always on. It ends when enough
// buffers are posted, because a PUT that no match entry will ever accept must not block its
// connection for long.
type backpressure struct {
	table  *portals.Table
	portal int
	enough int64         // number of posted buffers at which the backpressure ends; never, if the sink has fewer
	lazy   *atomic.Int64 // number of sinks that keep the portal lazy

	free atomic.Int64 // number of buffers that are posted and unused
	last atomic.Bool  // no more buffers will be posted
	on   atomic.Bool
}

// posted counts a buffer that is about to be posted. The parameter last is true if no further buffer
// will be posted.
func (b *backpressure) posted(last bool) {
	b.last.Store(last)
	b.free.Add(1)
}

// used counts a buffer that a message has arrived in. It does not block.
func (b *backpressure) used() {
	b.free.Add(-1)
	b.start()
}

// start makes the portal lazy, unless the last buffer has been posted.
func (b *backpressure) start() {
	if b.last.Load() || b.on.Swap(true) {
		return
	}
	b.lazy.Add(1)
	_ = b.table.SetLazy(b.portal) // fails only if no match entry was ever at the portal
}

// release ends the backpressure if enough buffers are posted.
func (b *backpressure) release() {
	if b.free.Load() >= b.enough || b.last.Load() {
		b.end()
	}
}

func (b *backpressure) end() {
	if !b.on.Swap(false) || b.lazy.Add(-1) > 0 {
		return
	}
	_ = b.table.ClearLazy(b.portal)
	if b.lazy.Load() > 0 { // another sink has made the portal lazy since the count was 0, which ClearLazy has undone
		_ = b.table.SetLazy(b.portal)
	}
}
