package sim

import (
	"math/bits"
	"time"

	"ulnet/lnet/machine"
)

// clock is a node's clock: it showed local at the instant virtual, and gains
// ppm microseconds per second since.
type clock struct {
	virtual, local, ppm int64
}

const million = 1_000_000

// at returns what the clock shows at an instant. The instant must not be before c.virtual.
func (c *clock) at(virtual int64) (local int64) {
	return later(c.local, scale(virtual-c.virtual, million+c.ppm, million))
}

// when returns the first instant at which the clock shows the local time local, or has passed it.
// local must not be before c.local.
func (c *clock) when(local int64) (virtual int64) {
	v := later(c.virtual, scale(local-c.local, million, million+c.ppm))
	for v < never && c.at(v) < local {
		v++
	}
	return v
}

// local returns what the clock of a node shows now.
func (n *Network[M]) local(id NodeID) time.Duration {
	if n.clocks == nil {
		return time.Duration(n.now)
	}
	return time.Duration(n.clocks[id].at(n.now))
}

// virtual returns the virtual time at which the clock of a node will show a given local time.
func (n *Network[M]) virtual(id NodeID, local time.Duration) int64 {
	switch {
	case local == machine.Never:
		return never
	case n.clocks == nil:
		return int64(local)
	}
	return n.clocks[id].when(int64(local))
}

// later returns t+d, or the largest int64 if that overflows; d >= 0.
func later(t, d int64) int64 {
	if t > never-d {
		return never
	}
	return t + d
}

// scale returns v*num/den, rounded down, without overflow on the way; v >= 0. It returns the
// largest int64 for a result that does not fit.
func scale(v, num, den int64) int64 {
	hi, lo := bits.Mul64(uint64(v), uint64(num))
	if hi >= uint64(den) {
		return never
	}
	q, _ := bits.Div64(hi, lo, uint64(den))
	return int64(min(q, never))
}

// MinSkew and maxSkew are the slowest and the fastest clock there can be, in ppm: they run at
// a thousandth and at a thousand times the speed of virtual time.
const (
	MinSkew = -999_000
	maxSkew = 999 * million
)

// SetSkew lets a node's clock gain ppm microseconds per second from now on,
// or lose them; within MinSkew and maxSkew. The clock does not jump.
func (n *Network[M]) SetSkew(id NodeID, ppm int64) {
	if n.clocks == nil {
		n.clocks = make([]clock, len(n.nodes))
	}
	nd, c := &n.nodes[id], &n.clocks[id]
	old := *c
	*c = clock{virtual: n.now, local: old.at(n.now), ppm: min(max(ppm, MinSkew), maxSkew)}
	if nd.wake != never && nd.wake > n.now {
		if nd.wake = c.when(old.at(nd.wake)); nd.wake < nd.armed {
			n.arm(id)
		}
	}
}
