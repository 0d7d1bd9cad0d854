package healthsim

import (
	"time"

	"ulnet/health"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
)

var series = []scenario.Quantity{
	{Name: "settled-clients", Unit: "clients", Doc: "clients that run and have a master"},
	{Name: "orphans", Unit: "connections", Doc: "connections whose master is dead or unsure"},
	{Name: "load-least", Unit: "clients", Doc: "clients of the master that has the fewest"},
	{Name: "load-most", Unit: "clients", Doc: "clients of the master that has the most"},
	{Name: "evictions", Unit: "told", Doc: "times that a client was told that all have evicted it"},
	{Name: "changes", Unit: "told", Doc: "times that a client lost its master"},
	{Name: "dropped", Unit: "told", Doc: "times that a client lost another connection"},
	{Name: "superseded", Unit: "told", Doc: "clients that were told that they run elsewhere"},
	{Name: "pings", Unit: "messages", Doc: "pings of clients in their latest incarnations"},
	{Name: "broadcasts", Unit: "broadcasts", Doc: "broadcasts of servers in their latest incarnations"},
	{Name: "skew", Unit: "ms", Doc: "the longest time between the first and the last server that evicted a silent client"},
}

// stats returns the counters of the latest incarnations of all nodes, summed up.
func (n *network) stats() (health.ServerStats, health.ClientStats) {
	return kit.Sum(n.servers, watcher.Stats), kit.Sum(n.clients, pinger.Stats)
}

// Sample implements [scenario.Instance].
func (n *network) Sample() []float64 {
	settled, orphans := 0, 0
	for id := range n.active(sim.AllNodes) {
		if n.client(id).Status().State == "settled" {
			settled++
		}
	}
	for _, w := range n.running(sim.AllNodes) {
		orphans += w.Status().Orphaned
	}
	l := &n.ledger
	least, most := n.load()
	servers, clients := n.stats()
	return []float64{
		float64(settled), float64(orphans), float64(least), float64(most), float64(l.evicted), float64(l.changes), float64(l.dropped),
		float64(l.superseded), float64(clients.Pings), float64(servers.Broadcasts), ms(l.skew),
	}
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// Measures implements [scenario.Instance].
func (n *network) Measures() []scenario.Measure {
	v := &n.ledger
	servers, clients := n.stats()
	malformed := servers.Malformed + servers.OtherVersion + servers.BadName + servers.Unexpected + servers.Strangers + clients.Malformed
	return []scenario.Measure{
		{Name: "evictions by all", Value: float64(v.evicted)},
		{Name: "false evictions", Value: float64(v.falsely)},
		{Name: "evicted incarnations taken again", Value: float64(v.revived)},
		{Name: "clients superseded", Value: float64(v.superseded)},
		{Name: "masters lost", Value: float64(v.changes)},
		{Name: "connections lost", Value: float64(v.dropped)},
		{Name: "evicted last after its last word", Unit: "ms", Value: ms(v.latest)},
		{Name: "between first and last server", Unit: "ms", Value: ms(v.skew)},
		{Name: "clients of dead masters that found another", Value: float64(len(v.rehomed))},
		{Name: "until 95 % of these had", Unit: "ms", Value: ms(kit.Quantile(v.rehomed, 0.95))},
		{Name: "until the last had", Unit: "ms", Value: ms(kit.Quantile(v.rehomed, 1))},
		{Name: "orphans made", Value: float64(servers.Orphaned)},
		{Name: "evicted: timed out", Value: float64(servers.Ended[health.TimedOut])},
		{Name: "evicted: rebooted", Value: float64(servers.Ended[health.Rebooted])},
		{Name: "evicted: lost master", Value: float64(servers.Ended[health.LostMaster])},
		{Name: "evicted: lost quorum", Value: float64(servers.Ended[health.LostQuorum])},
		{Name: "ghosts found", Value: float64(servers.Ghosts)},
		{Name: "broadcasts", Value: float64(servers.Broadcasts)},
		{Name: "of these again", Value: float64(servers.Rebroadcasts)},
		{Name: "pings", Value: float64(clients.Pings)},
		{Name: "messages of clients", Value: float64(clients.Sent)},
		{Name: "messages of servers", Value: float64(servers.Sent)},
		{Name: "of these questions to silent clients", Value: float64(servers.Asks)},
		{Name: "messages that make no sense", Value: float64(malformed)},
	}
}
