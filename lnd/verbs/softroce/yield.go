package softroce

import (
	"maps"
	"slices"
	"time"
)

// A SEND of several packets occupies a receive buffer from its first packet to its last one. Peers that
// die between these, or that never send the last one, would occupy the buffers that all connections share.
// So while a SEND finds no buffer, the device makes its connections free the buffers of SENDs that make
// no progress, see [responder.yield].

// yieldEvery is the interval in which a device that has run out of receive buffers makes its
// connections free those of SENDs without progress. A SEND that pauses for longer may lose its
// buffer. Local policy. A SEND that finds no buffer is tried again after firstProbe, and then after
// twice the time, until the sender gives up after some seconds.
const yieldEvery = firstProbe / 2

// starved makes the connections free buffers soon.
func (d *device) starved(now time.Duration) {
	d.hub.timers.set(&d.yielding, max(now, time.Duration(d.yieldAt.Load())))
}

// yield makes the connections free receive buffers whose SENDs have made no progress since the last
// yield.
func (d *device) yield(now time.Duration) {
	d.yieldAt.Store(int64(now + yieldEvery))
	d.mu.Lock()
	conns := slices.Collect(maps.Keys(d.conns))
	d.mu.Unlock()
	for _, c := range conns {
		c.yield()
	}
}

// yield frees the receive buffer of a SEND without progress.
func (c *conn) yield() {
	c.mu.Lock()
	if c.rc == nil || c.ended || c.rc.resp.in != aSend {
		c.mu.Unlock()
		return
	}
	box := c.hub.boxes.take()
	c.step(rcInput{Yield: true, Later: true}, box)
	c.finish(box)
}
