package zone

import (
	"cmp"
	"slices"
	"time"

	"ulnet/lnet/machine"
)

// supervision is what a member of the management zone knows of the base zones that it
// guards (seed 002, Sec. 2).
type supervision struct {
	zones map[string]*guarded
	names []string      // in order
	due   time.Duration // when the first delegate is given up; 0 without zones
}

// Bounds of what delegates can make a supervisor remember.
const (
	maxGuarded        = 4096
	maxGuardedMembers = 1 << 21 // of all zones
	maxDelegates      = 16
)

// next returns when a delegate is given up.
func (s *supervision) next() time.Duration {
	if len(s.names) == 0 {
		return machine.Never
	}
	return s.due
}

// expire gives up delegates that are silent.
func (s *supervision) expire(m *Machine) {
	for i := 0; i < len(s.names); i++ {
		g := s.zones[s.names[i]]
		if m.now < g.due {
			continue
		}
		g.delegates = slices.DeleteFunc(g.delegates, func(r registered) bool { return m.now >= r.heard+m.cfg.Timeout })
		if s.settle(m, g); len(g.delegates) == 0 {
			i--
		}
	}
}

// register takes note of a delegate (MS-97).
func (s *supervision) register(m *Machine, d *Dispatch) {
	g := s.zones[d.Zone]
	if g == nil {
		if d.Kind != Register {
			return
		}
		if len(s.names) >= maxGuarded {
			m.stats.TooManyZones++
			return
		}
		g = &guarded{name: d.Zone, members: make(map[ID]Version)}
		if s.zones == nil {
			s.zones = make(map[string]*guarded)
		}
		s.zones[d.Zone] = g
		at, _ := slices.BinarySearch(s.names, d.Zone)
		s.names = slices.Insert(s.names, at, d.Zone)
	}
	i := slices.IndexFunc(g.delegates, func(r registered) bool { return r.ID == d.From })
	switch {
	case i >= 0 && d.Version.Inc < g.delegates[i].Version.Inc:
		m.stats.Stale++
		return
	case i >= 0:
		g.delegates = slices.Delete(g.delegates, i, i+1)
	case len(g.delegates) >= maxDelegates && d.Kind == Register && d.Activation > g.delegates[maxDelegates-1].activation:
		g.delegates = g.delegates[:maxDelegates-1]
	case len(g.delegates) >= maxDelegates:
		m.stats.TooManyZones++
		return
	}
	if d.Kind == Register {
		g.delegates = append(g.delegates, registered{Named{d.From, d.Version}, d.Activation, d.Registration, d.Size, d.Hash, m.now})
		if d.Activation > g.highest {
			g.highest, g.holder = d.Activation, d.From
		}
	}
	slices.SortStableFunc(g.delegates, func(a, b registered) int {
		return cmp.Or(cmp.Compare(b.activation, a.activation), cmp.Compare(b.registration, a.registration), a.ID.Compare(b.ID))
	})
	taken := false
	switch {
	case d.Kind != Register || d.Activation == 0:
	case g.delegates[0].ID == d.From:
		g.change(m, d)
	default:
		taken = g.contest(m, d)
	}
	s.settle(m, g)
	if d.Kind == Register && d.Flags&Continued == 0 {
		s.welcome(m, g, d, taken)
	}
}

// members returns how many members all zones but one have.
func (s *supervision) members(but *guarded) (n int) {
	for _, name := range s.names {
		if g := s.zones[name]; g != but {
			n += len(g.members)
		}
	}
	return n
}

// welcome answers a delegate.
func (s *supervision) welcome(m *Machine, g *guarded, d *Dispatch, taken bool) {
	answer := &Dispatch{Kind: Registered, Zone: d.Zone, Registration: d.Registration, Known: m.view.hash}
	if d.Known != m.view.hash {
		answer.Joined = m.members()
	}
	if g.delegates[0].ID == d.From && d.Activation > 0 && d.Hash != g.hash {
		answer.Flags = Want
	}
	if taken {
		answer.Flags |= Taken
		answer.About, answer.AboutVersion = g.delegates[0].ID, g.delegates[0].Version
	}
	if d.Activation <= g.highest && g.holder != d.From && !g.has(g.holder) {
		answer.Activation = g.highest
	}
	m.dispatch(d.From, answer, false)
}

// settle publishes what changed, and ends guarding a zone without delegates.
func (s *supervision) settle(m *Machine, g *guarded) {
	defer s.rearm()
	if len(g.delegates) == 0 {
		m.write(Attribute{Key: CensusKey + g.name, Deleted: true})
		delete(s.zones, g.name)
		s.names = slices.DeleteFunc(s.names, func(n string) bool { return n == g.name })
		return
	}
	g.due = machine.Never
	for i := range g.delegates {
		g.due = min(g.due, g.delegates[i].heard+m.cfg.Timeout)
	}
	first := &g.delegates[0]
	if first.activation == 0 { // it will be told who is active
		return
	}
	e := CensusEntry{
		Zone: g.name, Activation: first.activation, Registration: first.registration,
		Delegates: g.own(), Delegate: first.ID, Version: first.Version, Size: int(first.size),
	}
	if e != g.published {
		g.published = e
		m.write(Attribute{Key: CensusKey + g.name, Value: e.appendBinary(nil)})
	}
}

func (s *supervision) rearm() {
	s.due = machine.Never
	for _, name := range s.names {
		s.due = min(s.due, s.zones[name].due)
	}
}

// query answers who is in a zone (MS-99).
func (s *supervision) query(m *Machine, d *Dispatch) {
	answer := &Dispatch{Kind: Answer, Zone: d.Zone, Number: d.Number}
	if g := s.zones[d.Zone]; g == nil {
		answer.Flags = Unknown
	} else {
		answer.Size, answer.Joined = uint32(len(g.members)), g.list()
	}
	m.dispatch(d.From, answer, false)
}

// alarmed passes a suspicion in a base zone on to the monitors of this one.
func (m *Machine) alarmed(d *Dispatch) {
	m.tell(Event{Kind: Alarmed, Zone: d.Zone, Suspect: Named{d.About, d.AboutVersion}, Reporters: int(d.Reporters)})
	g := m.supervisor.zones[d.Zone]
	if g == nil || !slices.ContainsFunc(g.delegates, func(r registered) bool { return r.ID == d.From }) {
		return // it was passed on: the way ends here
	}
	for _, p := range m.attributes.monitors {
		if id := m.cfg.Table.ID(p); p != m.self && id != d.From {
			pass := *d
			m.dispatch(id, &pass, true)
		}
	}
}
