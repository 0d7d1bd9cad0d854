// Package link says what a network does to a message on its way: how long it
// takes, and how often it is lost, doubled or overtaken. The simulator draws
// from it for its links, and package fault for real ones.
//
// The package has values only: no clock, no network, and no source of random numbers, which the
// caller passes.
package link

import (
	"math/rand/v2"
	"time"
)

// Quality describes a link. The zero value is a perfect link.
type Quality struct {
	Latency   Dist    // one-way latency of each message
	Loss      float64 // probability that a message is lost
	Duplicate float64 // probability that a message arrives twice
	Reorder   float64 // probability that a message is held back for Hold
	Hold      Dist    // how long a message is held back; zero: DefaultHold plus the message's latency
	// Rate is the bandwidth in bits per second; 0 is unlimited. It has no effect on a message's
	// Outcome, because the delay that it causes depends on earlier messages.
	Rate int64
}

// DefaultHold is for qualities without Hold: they hold a message back for DefaultHold plus its
// latency, on top of that latency. That is long enough for others to pass.
const DefaultHold = time.Millisecond

// Outcome describes the transmission of one message.
type Outcome struct {
	Lost   bool             // the message does not arrive
	Held   bool             // the message is held back, so that later ones may pass
	Copies int              // number of copies that arrive: 0 if lost, else 1 or 2
	Delays [2]time.Duration // delay of each copy
}

// Draw draws the outcome of one message. How many random numbers it takes from r depends on the
// quality and on the values of these numbers.
func (q *Quality) Draw(r *rand.Rand) Outcome {
	var f Outcome
	if q.Loss > 0 && r.Float64() < q.Loss {
		f.Lost = true
		return f
	}
	f.Copies = 1
	if q.Duplicate > 0 && r.Float64() < q.Duplicate {
		f.Copies = 2
	}
	for i := range f.Copies {
		f.Delays[i] = q.Latency.Draw(r)
	}
	if q.Reorder > 0 && r.Float64() < q.Reorder {
		f.Held = true
		f.Delays[0] += q.hold(f.Delays[0], r)
	}
	return f
}

// hold returns how long a reordered message is delayed in addition to its latency: a value drawn
// from q.Hold, or if that is not set, DefaultHold plus the latency once more.
func (q *Quality) hold(latency time.Duration, r *rand.Rand) time.Duration {
	if q.Hold == (Dist{}) {
		return DefaultHold + latency
	}
	return q.Hold.Draw(r)
}

// Transmission is how long size bytes occupy the link.
func (q *Quality) Transmission(size int) time.Duration { return Transmission(q.Rate, size) }

// Transmission is how long size bytes occupy a link of rate bits per second;
// none at rate 0, and 10000 hours at most.
func Transmission(rate int64, size int) time.Duration {
	if rate == 0 {
		return 0
	}
	return time.Duration(min(float64(size)*8e9/float64(rate), float64(maxDuration)))
}
