package healthsim

import "ulnet/health"

// Counters are some counters of all nodes' latest lives.
func (n *Net) Counters() (servers health.ServerStats, clients health.ClientStats) {
	for _, w := range n.servers {
		if w != nil {
			addStats(&servers, w.Stats())
		}
	}
	for _, p := range n.clients {
		if p != nil {
			s := p.Stats()
			clients.Sent += s.Sent
			clients.Pings += s.Pings
			clients.Changes += s.Changes
			clients.Evictions += s.Evictions
			clients.Malformed += s.Malformed
			clients.Stray += s.Stray
		}
	}
	return servers, clients
}

func addStats(sum *health.ServerStats, s health.ServerStats) {
	sum.Connects += s.Connects
	sum.Accepted += s.Accepted
	sum.Pings += s.Pings
	sum.Sent += s.Sent
	sum.Orphaned += s.Orphaned
	sum.Evictions += s.Evictions
	sum.Broadcasts += s.Broadcasts
	sum.Rebroadcasts += s.Rebroadcasts
	sum.Kept += s.Kept
	sum.Excepted += s.Excepted
	sum.Ghosts += s.Ghosts
	sum.Malformed += s.Malformed + s.OtherVersion + s.BadName + s.Unexpected
	sum.Strangers += s.Strangers
	sum.Foreign += s.Foreign
	sum.Late += s.Late
	sum.Paused += s.Paused
	for i := range s.Ended {
		sum.Ended[i] += s.Ended[i]
	}
}
