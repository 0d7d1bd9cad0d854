package portals

import (
	"time"

	"ulnet/lnet/latency"
)

// Of the operations that await an answer, one in 64 (the constant sampled) is timed on average. A timed
// operation has a call of its own, which pairs it with its answer, also if the MD awaits many equal
// answers. At most maxTimed calls of an MD exist only to time their operations: this bounds the memory
// for answers that never come.
const (
	sampled  = 64
	maxTimed = 8
)

// Latencies are how long the operations of this node took. One in 64 operations is a sample, drawn at random:
// of PUTs with Ack, and of GETs, including those that ulnet's own services send, such as discovery. While an
// MD awaits the answers of 8 samples, none of its further operations is a sample. The counts are those of
// samples; an operation that failed or got no answer is in none of them, see lnet.Stats.ResponseTimeouts.
type Latencies struct {
	// PutAck are the times from the call of Put or PutBatch until the driver had received the ACK. That
	// includes the time for which the PUT waited for credits, for a connection and at the target, and for
	// being sent again.
	PutAck latency.Snapshot `json:"put_ack"`
	// GetReply are the times from the call of Get until all data of the REPLY was in the MD.
	GetReply latency.Snapshot `json:"get_reply"`
}

// Latencies returns how long the PUTs and GETs of this node have taken so far. It takes no lock.
func (t *Table) Latencies() Latencies {
	return Latencies{PutAck: t.latencies.putAck.Snapshot(), GetReply: t.latencies.getReply.Snapshot()}
}

// latencies are the times of operations that were sampled.
type latencies struct {
	every            uint8 // one in this many operations is a sample; a power of 2, or 0 for none
	putAck, getReply latency.Histogram
}

// sample says whether an operation is timed, and when it began on the node's clock.
type sample struct {
	on    bool
	began time.Duration
}

// samples reports whether the operation that begins on d is to be timed. It draws each operation by
// itself, so that no pattern of types, targets or sizes is left out or preferred, as it would be if each
// 64th were timed. The generator belongs to the MD's slot, and later MDs in the slot go on with it,
// because many MDs end after one operation. The caller holds d.mu.
func (t *Table) samples(d *md) bool {
	return t.latencies.every != 0 && d.asked.draw()&uint32(t.latencies.every-1) == 0
}

// seed returns the first state of a slot's generator, which is not 0, and differs from slot to slot.
func seed(slot uint32) uint32 { return (slot + 1) * 0x9E3779B1 }

// draw returns the next number of the generator xorshift32 (Marsaglia, Xorshift RNGs, 2003).
func (a *asked) draw() uint32 {
	a.random ^= a.random << 13
	a.random ^= a.random >> 17
	a.random ^= a.random << 5
	return a.random
}

// acked records the time of a PUT whose ACK was received at an instant.
func (t *Table) acked(s sample, at time.Duration) {
	if s.on {
		t.latencies.putAck.Record(at - s.began)
	}
}

// replied records the time of a GET whose REPLY is in its MD now.
func (t *Table) replied(s sample) {
	if s.on {
		t.latencies.getReply.Record(t.node.Clock().Now() - s.began)
	}
}
