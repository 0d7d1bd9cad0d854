package gossipsim

import (
	"time"

	"ulnet/gossip/engine"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
)

// Reboots is the result of quick reboots.
type Reboots struct {
	Made     int // number of reboots
	Peers    int // number of peers that should notice each reboot
	Noticed  int // number of reboots that all of these peers reported, as a death and a return
	Mistakes int // deaths that a peer reported after the new incarnation had spoken
}

// Reboot kills the tracked nodes at the same time, in several rounds, and starts each of them
// again so soon that no other node has detected its absence. It returns how many of these
// reboots the other nodes noticed.
func (c Measured) Reboot(rounds int) (r Reboots, err error) {
	cfg := c.config()
	spoke, peers := make([]bool, c.columns()), make([]map[sim.NodeID]bool, c.columns())
	cfg.Tell = func(_ time.Duration, node sim.NodeID, e *engine.Event) {
		subject, _ := simlnd.Node(e.NID)
		switch e.Kind {
		case engine.SpeaksUp:
			if int(node) < len(spoke) {
				spoke[node] = true
			}
		case engine.Died:
			if int(node) < len(spoke) {
				return // node was restarted itself in this round, so what it reports does not count
			}
			peers[subject][node] = true
			if spoke[subject] {
				r.Mistakes++
			}
		}
	}
	net, err := New(cfg)
	if err != nil {
		return r, err
	}
	r.Peers = c.Nodes - c.columns()
	silence := time.Duration(net.Limits().Stealth) * Interval
	at := settle * Interval
	for round := range rounds {
		clear(spoke)
		if err := net.Run(at); err != nil {
			return r, err
		}
		for id := range c.columns() {
			peers[id] = make(map[sim.NodeID]bool)
			gone := time.Duration((uint64(round)*7919 + uint64(id)*104729 + c.Seed) % uint64(silence/4))
			net.Kill(sim.NodeID(id))
			net.At(at+gone, func() { net.Start(sim.NodeID(id), false) })
		}
		at += 2*silence + settle*Interval
		if err := net.Run(at); err != nil {
			return r, err
		}
		for id := range c.columns() {
			r.Made++
			back, _ := net.Think(sim.NodeRange(sim.NodeID(c.columns()), sim.NodeID(c.Nodes-1)), sim.Nodes(sim.NodeID(id)), true)
			if back && len(peers[id]) == r.Peers {
				r.Noticed++
			}
		}
	}
	return r, nil
}
