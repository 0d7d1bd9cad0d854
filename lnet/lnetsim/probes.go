package lnetsim

import (
	"errors"
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
	pairs map[pair]lost
	most  int  // largest number of a pair
	worst pair // pair that was the first with that number
}

type pair struct{ from, to sim.NodeID }

type lost struct {
	count  int
	heldAt time.Duration // time at which probes failed last that had waited for discovery
}

// add counts a probe that has failed. Probes that wait for discovery fail all at once when its ping is the message that
// was lost; they count as one.
func (l *lostProbes) add(p pair, now time.Duration, err error) {
	at := l.pairs[p]
	if !errors.Is(err, errUnanswered) {
		if at.heldAt == now {
			return
		}
		at.heldAt = now
	}
	at.count++
	if l.pairs == nil {
		l.pairs = make(map[pair]lost)
	}
	if l.pairs[p] = at; at.count > l.most {
		l.most, l.worst = at.count, p
	}
}

// lostAtMost is the condition "lost-probes".
func (n *network) lostAtMost(args scenario.Args) (bool, string) {
	l := &n.lostProbes
	return n.probes.round > 0 && l.most <= args.Int(0), fmt.Sprintf("%d probes from node %v to %v were lost", l.most, l.worst.from, l.worst.to)
}

// probe sends a PUT to every other node.
func (m *member) probe() {
	m.probing = m.net.probes.begin(m.net.Now())
	for id := range sim.NodeID(m.net.cfg.Nodes) {
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
	n.lostProbes.add(pair{o.member.stack.Host.ID(), o.to}, o.member.now(), err)
	if o.probe == n.probes.round && n.probes.failed == "" {
		n.probes.failed = fmt.Sprintf("; from node %v to %v: %v", o.member.stack.Host.ID(), o.to, err)
	}
}
