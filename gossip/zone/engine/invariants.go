package engine

import (
	"fmt"
	"maps"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// Check is for simulations. It returns an error if the machine's state breaks an invariant,
// which would be a defect of this package. It takes time in proportion to the size of the view.
func (m *Machine) Check() error { return m.invariants() }

// invariants returns an error if the machine's state breaks an invariant.
func (m *Machine) invariants() error {
	if m.phase != joined {
		return nil
	}
	for _, check := range []func() error{m.checkView, m.checkSuspicions, m.checkLinks, m.checkAttributes, m.checkOrigins} {
		if err := check(); err != nil {
			return err
		}
	}
	if m.delta.count+len(m.delta.leaves)+len(m.delta.suspicions) > 0 && m.delta.at == machine.Never {
		return fmt.Errorf("there is something to tell, but no time for it (MS-56)")
	}
	return nil
}

func (m *Machine) checkView() error {
	var members, gone int
	var hash uint64
	for i, p := range m.view.pages {
		if p == nil {
			continue
		}
		for j := range p.entries {
			r := wire.Ref(i*pageSize + j)
			switch e := &p.entries[j]; e.state {
			case inView:
				members++
				hash ^= mix(m.cfg.Table.ids[r].short, e.inc)
				if !e.version().IsValid() || !m.cfg.Table.ids[r].id.IsValid() {
					return fmt.Errorf("member %d has version %v and id %v", r, e.version(), m.cfg.Table.ID(r))
				}
			case inHistory:
				gone++
				if _, ok := m.history.of[r]; !ok {
					return fmt.Errorf("no time for %v in the history (MS-12)", m.cfg.Table.ID(r))
				}
			}
		}
	}
	own := m.view.at(m.self)
	switch {
	case members != m.view.members || gone != m.view.gone || gone != len(m.history.of):
		return fmt.Errorf("%d members, counted %d; %d gone, counted %d, times %d", m.view.members, members, m.view.gone, gone, len(m.history.of))
	case hash != m.view.hash:
		return fmt.Errorf("the hash of the view is %x, counted %x", m.view.hash, hash)
	case own.state != inView || own.version() != m.ver:
		return fmt.Errorf("the view has this node as %v, not %v (MS-8)", own, m.ver)
	case gone > hardHistory*members+hardHistoryMin:
		return fmt.Errorf("%d in the history of %d members (MS-A10)", gone, members)
	}
	return nil
}

func (m *Machine) checkSuspicions() error {
	for i, g := range m.relayed.all() {
		if e := m.view.at(g.Node); e.state != inView || g.Version.Less(e.version()) || m.relayed.index[g.Node] != i || m.relayed.at > g.until {
			return fmt.Errorf("the goodbye of %v in version %v waits until %v", m.cfg.Table.ID(g.Node), g.Version, g.until)
		}
	}
	if len(m.suspicions.list) == 0 && len(m.suspicions.open) == 0 {
		return nil
	}
	open := make(map[wire.Ref]int)
	for i := range m.suspicions.list {
		s := &m.suspicions.list[i]
		e := m.view.at(s.node)
		if e.state != inView || s.node == m.self || len(s.reports) == 0 || m.suspicions.index[s.node] != i {
			return fmt.Errorf("%v is suspected, but not in the view, or by nobody", m.cfg.Table.ID(s.node))
		}
		for _, r := range s.reports {
			open[r.by]++
			if !m.view.has(r.by) || r.by == s.node || r.version.Less(e.version()) {
				return fmt.Errorf("%v suspects %v as %v", m.cfg.Table.ID(r.by), m.cfg.Table.ID(s.node), r.version)
			}
		}
	}
	for r, n := range m.suspicions.open { // any order: the counts are independent
		if open[r] != n {
			return fmt.Errorf("%d reports of %v, counted %d", n, m.cfg.Table.ID(r), open[r])
		}
	}
	if len(open) != len(m.suspicions.open) {
		return fmt.Errorf("%d reporters, counted %d", len(m.suspicions.open), len(open))
	}
	return nil
}

func (m *Machine) checkLinks() error {
	var room [64]uint64 // a bit for each of up to 4096 nodes, without an allocation
	seen := append(room[:0], make([]uint64, len(m.view.pages))...)
	for i := range m.links.list {
		l := &m.links.list[i]
		page, bit := int(l.node/pageSize), uint64(1)<<(l.node%pageSize)
		switch {
		case page >= len(seen):
			return fmt.Errorf("a %v link to %v, who is not in the view", l.state, m.cfg.Table.ID(l.node))
		case seen[page]&bit != 0 || l.node == m.self:
			return fmt.Errorf("two links to %v, or one to itself", m.cfg.Table.ID(l.node))
		case !m.view.has(l.node):
			return fmt.Errorf("a %v link to %v, who is not in the view", l.state, m.cfg.Table.ID(l.node))
		case l.deadline(m) <= m.now:
			return fmt.Errorf("the %v link to %v was due at %v, now %v", l.state, m.cfg.Table.ID(l.node), l.deadline(m), m.now)
		}
		seen[page] |= bit
	}
	return nil
}

func (m *Machine) checkAttributes() error {
	a := &m.attributes
	var hash uint64
	open := 0
	for _, p := range a.order {
		r := a.of[p]
		if r == nil || !m.view.has(p) || r.inc != m.view.at(p).inc {
			return fmt.Errorf("attributes of %v, who is not in the view in that incarnation (MS-88)", m.cfg.Table.ID(p))
		}
		hash ^= m.hashOf(r)
		if r.target != 0 {
			open++
		}
		before := uint64(0)
		for i, e := range r.entries {
			if e.U <= before || e.U > r.u { // versions ascend and none is above the table's (MS-73)
				return fmt.Errorf("attributes of %v out of order: %d after %d, of %d", m.cfg.Table.ID(p), e.U, before, r.u)
			}
			if e.named || r.find(e.Key) != i {
				return fmt.Errorf("attribute %q of %v is at %d, found at %d", e.Key, m.cfg.Table.ID(p), i, r.find(e.Key))
			}
			before = e.U
		}
		if r.keys != len(r.entries) || r.keys > wire.MaxTableKeys || len(r.changed) > 0 || r.index != nil && len(r.index) != r.keys {
			return fmt.Errorf("%d attributes of %v, counted %d, in the index %d", len(r.entries), m.cfg.Table.ID(p), r.keys, len(r.index))
		}
		if p == m.self && before != r.u && r.floor != r.u {
			return fmt.Errorf("the newest own attribute is %d, not %d (MS-73)", before, r.u)
		}
	}
	if len(a.order) != len(a.of) || hash != a.hash || open != a.open {
		return fmt.Errorf("%d tables, %d in order; hash %x, counted %x; %d requests, counted %d", len(a.of), len(a.order), a.hash, hash, a.open, open)
	}
	return nil
}

func (m *Machine) checkOrigins() error {
	o := &m.supervisor.origins
	count := make(map[nid.NID]int)
	for zone, by := range o.of { // any order: any one error is enough
		r := m.attributes.of[m.self]
		if count[by]++; m.supervisor.zones[zone] == nil && (r == nil || r.find(CensusKey+zone) < 0) {
			return fmt.Errorf("zone %q counts for %v, but has no place in the census (MS-A24)", zone, by)
		}
	}
	if !maps.Equal(count, o.count) {
		return fmt.Errorf("names of zones by NID are %v, counted %v", count, o.count)
	}
	for by, n := range count { // any order: any one error is enough
		if n > maxNames {
			return fmt.Errorf("%v brought %d names of zones, more than %d (MS-A24)", by, n, maxNames)
		}
	}
	return nil
}
