package gossipsim

import (
	"context"
	"time"

	"ulnet/gossip/engine"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
)

// Samples counts how often live nodes were considered dead, with loss as the only fault. A
// sample is the health of one node as another one sees it in one cycle.
type Samples struct {
	Total    uint64 // number of samples: pairs of nodes times cycles
	Dead     uint64 // samples in which the other node was considered dead
	Deaths   uint64 // number of deaths reported; each lasts for several samples
	Messages uint64 // messages received, including obsolete ones
	Obsolete uint64 // messages dropped because of an old clock
}

// Share is the share of samples in which a live node was considered dead.
func (s Samples) Share() float64 { return float64(s.Dead) / float64(max(s.Total, 1)) }

// settle is the number of cycles that a cluster runs before samples count.
const settle = 60

// Sample runs a cluster until it has as many samples as want says, or ctx ends, and returns how
// many of them are wrong.
func (c Measured) Sample(ctx context.Context, want uint64) (s Samples, err error) {
	cfg := c.config()
	begin := settle * Interval
	type pair struct{ observer, subject sim.NodeID }
	since := map[pair]time.Duration{} // when the first node of a pair reported that the second one died
	cfg.Tell = func(at time.Duration, node sim.NodeID, e *engine.Event) {
		subject, _ := simlnd.Node(e.NID)
		k := pair{node, subject}
		switch {
		case e.Kind == engine.Died:
			since[k] = max(at, begin)
			if at > begin {
				s.Deaths++
			}
		case e.Kind == engine.CameAlive && at > begin:
			if died, ok := since[k]; ok {
				s.Dead += uint64(cyclesOf(at - died))
			}
			delete(since, k)
		case e.Kind == engine.CameAlive:
			delete(since, k)
		}
	}
	net, err := New(cfg)
	if err != nil {
		return s, err
	}
	if err := net.Run(begin); err != nil {
		return s, err
	}
	before := net.Counters()
	each := uint64(c.Nodes-1) * uint64(c.columns())
	for at := begin; s.Total < want && ctx.Err() == nil; s.Total += each {
		at += Interval
		if err := net.Run(at); err != nil {
			return s, err
		}
	}
	for _, died := range since { // any order: the result is a sum
		s.Dead += uint64(cyclesOf(net.Now() - died))
	}
	after := net.Counters()
	s.Obsolete = after.Obsolete - before.Obsolete
	s.Messages = s.Obsolete + after.PingsReceived + after.RepliesReceived - before.PingsReceived - before.RepliesReceived
	return s, nil
}

// columns returns the number of tracked nodes.
func (c Measured) columns() int {
	if c.Columns > 0 {
		return min(c.Columns, c.Nodes)
	}
	return c.Nodes
}
