package faultrule

import (
	"math"
	"math/rand/v2"
	"time"
)

// schedule says which of the messages that match a rule it hits next.
type schedule struct {
	index uint64        // for a rule with a rate: number, from 0, of the message that is hit next
	at    time.Duration // for a rule with an interval: the first message at this time or later is hit next
	ends  time.Duration // for a rule with an interval: end of the window in which at lies
}

// begin draws which message is the first to be hit.
func (n *schedule) begin(now time.Duration, a *Attr, random *rand.Rand) {
	if a.Rate != 0 {
		n.index = uint64(random.Uint32N(a.Rate))
		return
	}
	n.ends = now
	n.draw(now, a, random)
}

// draw chooses the next instant for a hit: a random whole second within the next window. The next window
// begins when the window before it ends, or now if that has ended already.
func (n *schedule) draw(now time.Duration, a *Attr, random *rand.Rand) {
	begins := max(n.ends, now)
	n.at = later(begins, time.Duration(random.Int64N(int64(a.Interval/time.Second)))*time.Second)
	n.ends = later(begins, a.Interval)
}

// later returns t+d, or the largest Duration if that overflows.
func later(t, d time.Duration) time.Duration {
	if t > math.MaxInt64-d {
		return math.MaxInt64
	}
	return t + d
}

// hits counts a message that matches, and reports whether it is hit.
func (n *schedule) hits(now time.Duration, a *Attr, s *Stats, random *rand.Rand) bool {
	s.Matched++
	switch {
	case a.All:
		return true
	case a.Random:
		return random.IntN(2) == 0
	case a.Rate != 0:
		return n.hitsIndex(s.Matched-1, uint64(a.Rate), random)
	}
	if now < n.at {
		return false
	}
	n.draw(now, a, random)
	return true
}

// hitsIndex reports whether message i is hit. The last message of a window draws the index of
// the message that is hit in the next window.
func (n *schedule) hitsIndex(i, rate uint64, random *rand.Rand) bool {
	hit := i == n.index
	if (i+1)%rate == 0 {
		n.index = i + 1 + random.Uint64N(rate)
	}
	return hit
}
