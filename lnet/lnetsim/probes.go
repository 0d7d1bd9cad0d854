package lnetsim

import (
	"fmt"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// probes is the latest round of the verb probe: all probes of one instant.
type probes struct {
	round, begun, answered int
	at                     time.Duration
	failed                 string // first probe that failed, with its error
}

// begin returns the number of the round to which the probes of this instant belong; the first of
// them begins the round.
func (p *probes) begin(now time.Duration) int {
	if p.round == 0 || p.at != now {
		*p = probes{round: p.round + 1, at: now}
	}
	return p.round
}

// lostProbes counts the probes of all rounds that were lost, by sender and receiver.
type lostProbes struct {
	pairs map[pair]int
	most  int  // largest number of a pair
	worst pair // pair that was the first with that number
}

type pair struct{ from, to sim.NodeID }

// add counts a probe that has failed.
func (l *lostProbes) add(p pair) {
	if l.pairs == nil {
		l.pairs = make(map[pair]int)
	}
	l.pairs[p]++
	if l.pairs[p] > l.most {
		l.most, l.worst = l.pairs[p], p
	}
}

// lostAtMost is the condition "lost-probes".
func (n *network) lostAtMost(args scenario.Args) (bool, string) {
	l := &n.lostProbes
	between, lost := l.worst, l.most
	if len(args) > 1 {
		between = pair{args.Node(1), args.Node(2)}
		lost = l.pairs[between]
	}
	return n.probes.round > 0 && lost <= args.Int(0), fmt.Sprintf("%d probes from node %v to %v were lost", lost, between.from, between.to)
}

// probe sends a PUT to every other node. Each round begins with another node than the round before: if the order were
// always the same, LNet, which uses rails in turn, might send all probes to a node by the same rail.
func (m *member) probe() {
	m.probing = m.net.probes.begin(m.net.Now())
	for i := range m.net.cfg.Nodes {
		id := sim.NodeID((i + m.probing) % m.net.cfg.Nodes)
		if id != m.stack.Host.ID() {
			m.net.probes.begun++
			m.begin(put, id, false)
		}
	}
	m.probing = 0
}

// unprobed notes that the probe o failed with err.
func (n *network) unprobed(o *operation, err error) {
	if o.probe == 0 {
		return
	}
	n.lostProbes.add(pair{o.member.stack.Host.ID(), o.to})
	if o.probe == n.probes.round && n.probes.failed == "" {
		n.probes.failed = fmt.Sprintf("; from node %v to %v: %v", o.member.stack.Host.ID(), o.to, err)
	}
}
