package zone

import (
	"math/bits"
	"time"

	"ulnet/lnet/machine"
)

// delta is the update database Δ: what neighbours have to be told (seed 002,
// Membership Updates).
type delta struct {
	nodes      bitmap // Δ.A; their versions are those at the time of sending
	count      int    // of them
	leaves     []Departure
	suspicions []Suspicion
	at         time.Duration // when it is sent: τ after the first event (MS-56)
}

func (d *delta) arm(m *Machine) {
	if d.at == machine.Never {
		d.at = m.now + m.cfg.Aggregation
	}
}

func (d *delta) alive(m *Machine, p Ref) {
	if d.nodes.set(p) {
		d.count++
		d.arm(m)
	}
}

func (d *delta) leave(m *Machine, l *Departure) {
	d.leaves = append(d.leaves, *l)
	d.arm(m)
}

func (d *delta) suspicion(m *Machine, s *Suspicion) {
	d.suspicions = append(d.suspicions, *s)
	d.arm(m)
}

// flush sends Δ to all neighbours and clears it.
func (m *Machine) flush() {
	d := &m.delta
	d.at = machine.Never
	if m.links.count(up) > 0 {
		lists := &Lists{Leaves: d.leaves, Suspicions: d.suspicions, Alive: m.fresh()}
		m.links.each(up, func(l *link) { m.send(l.node, Message{Kind: Update, Lists: lists}) })
	}
	clear(d.nodes)
	d.leaves, d.suspicions, d.count = nil, nil, 0 // a neighbour to come gets the whole view
}

// fresh returns the nodes of Δ.A with their versions, in the view or when they went.
func (m *Machine) fresh() []Member {
	if m.delta.count == 0 {
		return nil
	}
	list := make([]Member, 0, m.delta.count)
	for i, word := range m.delta.nodes {
		for ; word != 0; word &= word - 1 {
			p := Ref(i<<6 + bits.TrailingZeros64(word))
			if e := m.view.at(p); e.state != unknown {
				list = append(list, Member{p, e.version()})
			}
		}
	}
	return list
}

func (d *delta) marks(keep *bitmap) {
	for i := range d.leaves {
		keep.set(d.leaves[i].Node)
	}
	for i := range d.suspicions {
		keep.set(d.suspicions[i].Suspect)
		keep.set(d.suspicions[i].Reporter)
	}
}
