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

// at is what the clock shows at an instant, not before c.virtual.
func (c *clock) at(virtual int64) (local int64) {
	return c.local + scale(virtual-c.virtual, million+c.ppm, million)
}

// when is the first instant at which the clock shows local or more, which is
// not before c.local.
func (c *clock) when(local int64) (virtual int64) {
	v := c.virtual + scale(local-c.local, million, million+c.ppm)
	for c.at(v) < local {
		v++
	}
	return v
}

// local is what the clock of a node shows now.
func (n *Network[M]) local(id NodeID) time.Duration {
	if n.clocks == nil {
		return time.Duration(n.now)
	}
	return time.Duration(n.clocks[id].at(n.now))
}

// virtual is when the clock of a node will show local.
func (n *Network[M]) virtual(id NodeID, local time.Duration) int64 {
	switch {
	case local == machine.Never:
		return never
	case n.clocks == nil:
		return int64(local)
	}
	return n.clocks[id].when(int64(local))
}

// scale is v*num/den, rounded down, without overflow on the way; v >= 0. What
// does not fit comes out as the end of time.
func scale(v, num, den int64) int64 {
	hi, lo := bits.Mul64(uint64(v), uint64(num))
	if hi >= uint64(den) {
		return never
	}
	q, _ := bits.Div64(hi, lo, uint64(den))
	return int64(min(q, never))
}
