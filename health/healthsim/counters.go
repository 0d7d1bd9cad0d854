package healthsim

import (
	"ulnet/health"
	"ulnet/lnd/sim/scenario/kit"
)

// Counters returns the sums of the counters of all nodes' latest incarnations.
func (n *Net) Counters() (health.ServerStats, health.ClientStats) {
	return kit.Sum(n.servers, watcher.Stats), kit.Sum(n.clients, pinger.Stats)
}
