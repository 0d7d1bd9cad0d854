package portals

import (
	"time"

	"ulnet/lnet/latency"
)

// sampled is one in how many operations that await an answer is timed. An operation that is timed
// has a call of its own, which pairs it with its answer, also if the MD awaits many equal ones.
const sampled = 64

// Latencies are how long the operations of this node took. One in 64 operations of each MD is a
// sample: PUTs with Ack, and GETs, also those of this module's own services. The counts are those of
// samples; an operation that failed or got no answer is in none of them, see
// lnet.Stats.ResponseTimeouts.
type Latencies struct {
	// PutAck are the times from the call of Put or PutBatch until the driver had received the ACK.
	// That includes the time for which the PUT waited for credits, for a connection and at the
	// target, and further tries.
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
	every            uint8 // one in so many operations is a sample; a power of 2, or 0 for none
	putAck, getReply latency.Histogram
}

// sample says whether an operation is timed, and when it began on the node's clock.
type sample struct {
	on    bool
	began time.Duration
}

// samples reports whether the operation that begins on d is to be timed. It counts operations by slot,
// because many MDs end after one, and begins to count at another number in each slot, so that slots
// which are used in turn are not sampled in the same round. The caller holds d.mu.
func (t *Table) samples(d *md) bool {
	d.asked.begun++
	return t.latencies.every != 0 && (d.asked.begun+uint8(d.slot))%t.latencies.every == 0
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
