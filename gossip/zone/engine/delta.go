package engine

import (
	"math/bits"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/machine"
)

// delta is the update database Δ: the changes that neighbours do not have yet (membership
// design, Membership Updates).
type delta struct {
	nodes      bitmap // the nodes of Δ.A; each is sent with the version that it has at the time of sending
	count      int    // number of nodes in the bitmap
	leaves     []wire.Departure
	suspicions []wire.Suspicion
	silences   []wire.Suspicion // suspicions to send as Lists.Silences
	at         time.Duration    // when Δ is sent: τ after its first change (MS-56)
}

func (d *delta) arm(m *Machine) {
	if d.at == machine.Never {
		d.at = m.now + m.cfg.Aggregation
	}
}

func (d *delta) alive(m *Machine, p wire.Ref) {
	if d.nodes.set(p) {
		d.count++
		d.arm(m)
	}
}

// urgentParts is the number of parts into which a round is divided. Nodes forward reports,
// goodbyes and refutations after one part. Within the grace period a report therefore reaches
// the suspect and the refutation comes back, over a diameter of 12 links in each direction.
const urgentParts = 8

func (d *delta) urgent(m *Machine) { d.at = min(d.at, m.now+m.cfg.Aggregation/urgentParts) }

// hasten makes news of failures and returns urgent, unless the threshold is 1: then no failure waits to be
// refuted, and such news is sent once per round, as in the design.
func (d *delta) hasten(m *Machine) {
	if m.cfg.Threshold > 1 {
		d.urgent(m)
	}
}

// refutation adds the news that a suspected node is alive, and sends it early, before the node
// is removed.
func (d *delta) refutation(m *Machine, p wire.Ref) {
	d.alive(m, p)
	d.urgent(m)
}

// refutes is called for a report or goodbye about node p in an older version than this node knows. If p's newer
// version still waits for the end of the round, refutes sends it early, because other nodes may have got the same
// report or goodbye and not know the newer version.
func (d *delta) refutes(m *Machine, p wire.Ref) {
	if d.nodes.has(p) {
		d.urgent(m)
	}
}

func (d *delta) leave(m *Machine, l *wire.Departure) {
	d.leaves = append(d.leaves, *l)
	d.urgent(m)
}

func (d *delta) suspicion(m *Machine, s *wire.Suspicion, silent bool) {
	if silent {
		d.silences = append(d.silences, *s)
	} else {
		d.suspicions = append(d.suspicions, *s)
	}
	if d.arm(m); silent {
		d.urgent(m)
	} else {
		d.hasten(m)
	}
}

// flush sends Δ to all neighbours and clears it.
func (m *Machine) flush() {
	d := &m.delta
	d.at = machine.Never
	if m.links.count(up) > 0 {
		lists := &wire.Lists{Leaves: d.leaves, Suspicions: d.suspicions, Silences: d.silences, Alive: m.fresh()}
		m.links.each(up, func(l *link) { m.send(l.node, wire.Message{Kind: wire.Update, Lists: lists}) })
	}
	clear(d.nodes)
	d.leaves, d.suspicions, d.silences, d.count = nil, nil, nil, 0 // not needed for neighbours that join later: they get the whole view
}

// fresh returns the nodes of Δ.A, each with its version in the view, or in ahead, or, if the node has left the
// view, with its last version there.
func (m *Machine) fresh() []wire.Member {
	if m.delta.count == 0 {
		return nil
	}
	list := make([]wire.Member, 0, m.delta.count)
	for i, word := range m.delta.nodes {
		for ; word != 0; word &= word - 1 {
			p := wire.Ref(i<<6 + bits.TrailingZeros64(word))
			if e := m.view.at(p); e.state != unknown {
				list = append(list, wire.Member{Node: p, Version: m.latest(p, e)})
			}
		}
	}
	return list
}

func (d *delta) marks(keep *bitmap) {
	for i := range d.leaves {
		keep.set(d.leaves[i].Node)
	}
	for _, list := range [][]wire.Suspicion{d.suspicions, d.silences} {
		for i := range list {
			keep.set(list[i].Suspect)
			keep.set(list[i].Reporter)
		}
	}
}
