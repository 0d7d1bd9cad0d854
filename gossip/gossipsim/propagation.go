package gossipsim

import (
	"fmt"
	"slices"
	"time"

	"ulnet/gossip/engine"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
)

// Propagation is how fast newcomers become known to the others.
type Propagation struct {
	Known  []int // for each newcomer: cycles from its first ping until all others knew it, ascending
	Synced []int // for each newcomer: cycles from its first ping until its clock was close to all others, ascending
	Flaps  int   // number of events by which a node reported a newcomer as dead
}

// quietBefore is how long the cluster of a [Propagation] runs before newcomers
// speak.
const quietBefore = 15

// Propagate measures how newcomers join a cluster. The first nodes are the newcomers, as many
// as the parameter says. They are silent until all other nodes have started.
func (c Measured) Propagate(newcomers int) (*Propagation, error) {
	cfg := c.config()
	p := &Propagation{}
	limits, err := cfg.Gossip.Engine().Limits(c.Nodes)
	if err != nil {
		return nil, err
	}
	silence := time.Duration(limits.Stealth) * Interval
	cfg.ColdStart = func(l sim.Incarnation) bool { return int(l.Node) >= newcomers }
	cfg.StartAt = func(id sim.NodeID) time.Duration {
		if int(id) < newcomers {
			return 0
		}
		return silence - quietBefore*Interval
	}
	spoke, last, knows := make([]time.Duration, newcomers), make([]time.Duration, newcomers), make([]int, newcomers)
	cfg.Tell = func(at time.Duration, node sim.NodeID, e *engine.Event) {
		switch e.Kind {
		case engine.SpeaksUp:
			spoke[node] = at
		case engine.CameAlive:
			if id, _ := simlnd.Node(e.NID); int(id) < newcomers {
				knows[id]++
				last[id] = at
			}
		case engine.Died:
			p.Flaps++
			if id, _ := simlnd.Node(e.NID); int(id) < newcomers {
				knows[id]--
			}
		}
	}
	net, err := New(cfg)
	if err != nil {
		return nil, err
	}
	for at := silence; ; at += Interval {
		if err := net.Run(at); err != nil {
			return nil, err
		}
		p.sync(net, spoke, at, limits.Obsolete)
		if !slices.ContainsFunc(knows, func(k int) bool { return k < c.Nodes-1 }) {
			break
		}
		if at > silence+100*Interval {
			return nil, fmt.Errorf("gossipsim: after 100 cycles newcomers are known to %v of %d nodes", knows, c.Nodes)
		}
	}
	for i := range knows {
		p.Known = append(p.Known, cyclesOf(last[i]-spoke[i]))
	}
	slices.Sort(p.Known)
	slices.Sort(p.Synced)
	return p, nil
}

// sync notes the newcomers that speak and whose clocks are in sync now.
func (p *Propagation) sync(net *Net, spoke []time.Duration, now time.Duration, limit int) {
	if len(p.Synced) == len(spoke) {
		return
	}
	_, high := net.spread()
	p.Synced = p.Synced[:0]
	for i, at := range spoke {
		if at > 0 && net.Clock(sim.NodeID(i))+uint64(limit) >= high {
			p.Synced = append(p.Synced, max(cyclesOf(now-at), 0))
		}
	}
}
