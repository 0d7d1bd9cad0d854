package metrics

import "ulnet/gossip"

// gossipTable has what 'gossipctl status' shows, except the participants.
func gossipTable() []group {
	type status = *gossip.Status
	each := func(s *state, yield func(status, ...string)) {
		if s.gossip != nil {
			yield(s.gossip)
		}
	}
	return []group{
		&objects[*state]{each: func(s *state, yield func(*state, ...string)) { yield(s) }, rows: []row[*state]{
			{"gossip_running", "ratio", "1: this node takes part in gossip; 0: it does not, or has given up.", func(s *state) float64 { return oneIf(s.gossip != nil && !s.gossip.Stopped) }},
		}},
		&objects[status]{each: each, rows: []row[status]{
			{"gossip_quorum", "ratio", "1: enough participants are alive; 0: this node may be in a minority.", func(s status) float64 { return oneIf(s.Quorum) }},
			{"gossip_participants", "nodes", "Participants of gossip.", func(s status) float64 { return number(s.N) }},
			{"gossip_alive", "nodes", "Participants that are alive, this node included.", func(s status) float64 { return number(s.Alive) }},
			{"gossip_silent", "ratio", "1: this node listens only, after its start; 0: it speaks.", func(s status) float64 { return oneIf(s.Silent) }},
			{"gossip_interval_seconds", "seconds", "Time between the cycles of gossip.", func(s status) float64 { return s.Interval.Seconds() }},
			{"gossip_cycles_total", "cycles", "Cycles of this node since gossip began.", func(s status) float64 { return number(s.Cycle) }},
		}},
		&objects[uint64]{labels: []string{"event"}, each: func(s *state, yield func(uint64, ...string)) {
			each(s, func(g status, _ ...string) {
				eachEvent(countersOf(g.Stats), yield)
				yield(g.NotSent, "not_sent")
				yield(g.StrayBits, "stray_bits")
				yield(g.OtherPID, "other_pid")
				yield(g.NotPosted, "not_posted")
			})
		}, rows: events("gossip_events_total", "What gossip did and refused, by the names of 'gossipctl status --json'.")},
	}
}
