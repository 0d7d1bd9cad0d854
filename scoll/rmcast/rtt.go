package rmcast

import "time"

// rtt estimates the round trip to other members, in the manner of RFC 6298.
type rtt struct {
	smoothed  time.Duration // 0: nothing measured
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
	return min(max(r.smoothed+4*r.variation, cfg.MinRTT), cfg.MaxRTT)
}

// sample measures with the acknowledgement of a leaf, at the origin of a message
// that is in flight alone: others may wait on the way.
func (s *stream) sample(k *kid, ks *kidSlot, seq uint64) {
	f := s.slot(seq)
	if s.isRoot() && k.depth == 1 && ks.tries == 0 && seq == s.stable && f.delivered && seq+uint64(f.count) == s.head {
		s.m.rtt.sample(s.m.now - f.at)
	}
}
