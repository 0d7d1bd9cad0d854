package engine

import (
	"time"

	"ulnet/scoll/rmcast/wire"
)

// rtt estimates a round-trip time, as RFC 6298 does.
type rtt struct {
	smoothed  time.Duration // smoothed round-trip time; 0: no sample yet
	variation time.Duration
}

func (r *rtt) sample(d time.Duration) {
	if r.smoothed == 0 {
		r.smoothed, r.variation = max(d, 1), d/2
		return
	}
	r.variation += (max(d-r.smoothed, r.smoothed-d) - r.variation) / 4
	r.smoothed = max(r.smoothed+(d-r.smoothed)/8, 1)
}

func (r *rtt) estimate(cfg *Config) time.Duration {
	if r.smoothed == 0 {
		return cfg.RTT
	}
	return min(max(r.spread(), cfg.MinRTT), cfg.MaxRTT)
}

// spread is an upper bound of nearly all samples; 0 if there is none.
func (r *rtt) spread() time.Duration { return r.smoothed + 4*r.variation }

// sample takes an RTT sample at the origin, from the acknowledgement of a leaf, if the message
// is the only one in flight. Acknowledgements of other messages or members may be delayed on
// the way.
func (s *stream) sample(k *child, ks *childSlot, seq uint64) {
	f := s.slot(seq)
	if s.isRoot() && k.depth == 1 && ks.tries == 0 && ks.sentAt == 0 && seq == s.stable && f.delivered && seq+uint64(f.count) == s.head {
		s.m.rtt.sample(s.m.now - f.at)
	}
}

// maxLevels exceeds the height of a tree of MaxMembers.
const maxLevels = 24

// sampleAck samples how long a child took to acknowledge the oldest message in an
// acknowledgement. Samples are kept separately for each height of the child's subtree. Karn's
// algorithm: it takes no sample if the message was resent to the child or below, or if the
// acknowledgement answers a poll.
func (s *stream) sampleAck(k *child, ks *childSlot, seq uint64, e *wire.Entry) {
	f := s.slot(seq)
	if f.delivered && ks.sentAt == 0 && !ks.wants && e.Repairs == 0 && e.Flags&wire.FlagAnswer == 0 {
		s.m.acks[min(k.depth, maxLevels-1)].sample(s.m.now - f.at)
	}
}

// overtaken samples the time from the first control message about a datagram to its arrival.
func (s *stream) overtaken(sl *slot) {
	if sl.noticedAt != 0 {
		s.m.late.sample(s.m.now-sl.noticedAt, s.m.now)
		sl.noticedAt = 0
	}
}

// peak keeps the maximum of rare samples, and halves it after each peakHalf. The mean of such
// samples would not predict the next one.
type peak struct{ value, at time.Duration }

const peakHalf = 10 * time.Second

func (p *peak) sample(d, now time.Duration) {
	if d >= p.estimate(now) {
		p.value, p.at = d, now
	}
}

func (p *peak) estimate(now time.Duration) time.Duration {
	return p.value >> min((now-p.at)/peakHalf, 62)
}
