package engine

import (
	"slices"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// supervision is what a supervisor, a member of the management zone, knows of the base zones
// that it guards (membership design, Sec. 2).
type supervision struct {
	zones   map[string]*guarded
	names   []string      // names of the zones, sorted
	due     time.Duration // when the next silent delegate is given up, or a zone becomes stale; 0 without zones
	most    int           // bound of the number of members of all zones together
	orphans map[string]orphan
	refused time.Duration // when the event ZoneRefused may be reported again
	joined  time.Duration // when a member last joined the view
	origins origins
}

// Bounds of what delegates can make a supervisor remember.
const (
	maxGuarded        = 4096
	maxGuardedMembers = 1 << 21 // bound of the number of members of all zones together
	maxDelegates      = 16
)

// refusalInterval is the least time between two ZoneRefused events.
const refusalInterval = time.Minute

// next returns the next deadline of the supervisor.
func (s *supervision) next() time.Duration {
	if len(s.names) == 0 {
		return machine.Never
	}
	return s.due
}

// expire gives up silent delegates, and zones without delegates.
func (s *supervision) expire(m *Machine) {
	for i := 0; i < len(s.names); {
		name := s.names[i]
		if g := s.zones[name]; m.now >= g.due {
			g.delegates = slices.DeleteFunc(g.delegates, func(r registered) bool { return m.now >= r.heard+m.cfg.Timeout })
			s.settle(m, g, false)
		}
		if s.zones[name] != nil {
			i++
		}
	}
}

// register handles the registration of a delegate (MS-97).
func (s *supervision) register(m *Machine, d *wire.Dispatch) {
	g := s.zones[d.Zone]
	if g == nil && d.Kind == wire.Register {
		if g = s.guard(m, d); g == nil {
			s.refuse(m, d)
		}
	}
	if g == nil || !s.admit(m, g, d) {
		return
	}
	taken := false
	switch {
	case d.Kind != wire.Register || d.Activation == 0:
	case g.delegates[0].ID == d.From:
		g.active, g.parted = m.now, false
		g.change(m, d)
	default:
		taken = g.contest(m, d)
	}
	switch s.settle(m, g, d.Kind == wire.Unregister && d.Registration == 0 && g.parted); {
	case d.Kind != wire.Register:
	case s.zones[d.Zone] != g: // the zone's entry does not fit the census any more
		s.refuse(m, d)
	case d.Flags&wire.Continued == 0:
		s.welcome(m, g, d, taken)
	}
}

// admit admits the delegate in whose name a message is, or removes it. The result is false if the message changes nothing.
func (s *supervision) admit(m *Machine, g *guarded, d *wire.Dispatch) bool {
	by, believed := g.speaker(m, d)
	if !believed {
		m.stats.OtherNID++
		return false
	}
	ok, late := g.admit(d, by, m.now)
	switch {
	case late:
		m.stats.Stale++
	case !ok:
		s.refuse(m, d)
	}
	return ok && !late
}

// guard begins to guard a zone and returns it. It returns nil if the census has no room for the
// zone's entry, even after all lost zones are forgotten, or if the NID that registers the zone has
// used up its share of names: see origins. It counts the room that the entries of all
// zones would take if they were stale, because stale entries are longer.
func (s *supervision) guard(m *Machine, d *wire.Dispatch) *guarded {
	if !s.origins.admit(d.Zone, m.peer) {
		s.evict(m, m.peer) // for a later registration: the name of the evicted zone counts as long as its death certificate stays
		return nil
	}
	if len(s.names) >= maxGuarded && !s.evict(m, nid.NID{}) {
		return nil
	}
	e := CensusEntry{Delegate: d.From, Version: d.Version, State: Stale}
	for m.Fits(CensusKey+d.Zone, make([]byte, len(e.appendBinary(nil))+staleSize*len(s.names))) != nil {
		if !s.evict(m, nid.NID{}) {
			return nil
		}
	}
	g := &guarded{name: d.Zone, members: make(map[wire.ID]wire.Version)}
	if s.zones == nil {
		s.zones = make(map[string]*guarded)
	}
	s.zones[d.Zone] = g
	s.origins.add(d.Zone, m.peer)
	at, _ := slices.BinarySearch(s.names, d.Zone)
	s.names = slices.Insert(s.names, at, d.Zone)
	return g
}

// refuse answers a delegate that there is no room for its zone, and reports that once per
// refusalInterval.
func (s *supervision) refuse(m *Machine, d *wire.Dispatch) {
	m.stats.TooManyZones++
	if d.Kind != wire.Register || d.Flags&wire.Continued != 0 {
		return
	}
	m.dispatch(d.From, &wire.Dispatch{Kind: wire.Registered, Zone: d.Zone, Registration: d.Registration, Flags: wire.NoRoom}, false)
	if m.now >= s.refused && s.origins.admit(d.Zone, m.peer) { // more supervisors are no help to a NID that has used up its share
		s.refused = m.now + refusalInterval
		m.tell(Event{Kind: ZoneRefused, Zone: d.Zone, Size: len(s.names)})
	}
}

// members returns the number of members of all zones except one.
func (s *supervision) members(but *guarded) (n int) {
	for _, name := range s.names {
		if g := s.zones[name]; g != but {
			n += len(g.members)
		}
	}
	return n
}

// welcome answers the registration of a delegate.
func (s *supervision) welcome(m *Machine, g *guarded, d *wire.Dispatch, taken bool) {
	answer := &wire.Dispatch{Kind: wire.Registered, Zone: d.Zone, Registration: d.Registration, Known: m.view.hash}
	if d.Known != m.view.hash {
		answer.Joined = m.members()
	}
	if g.delegates[0].ID == d.From && d.Activation > 0 && d.Hash != g.hash && int(d.Size) <= g.room(m) {
		answer.Flags = wire.Want
	}
	if taken {
		answer.Flags |= wire.Taken
		answer.About, answer.AboutVersion = g.delegates[0].ID, g.delegates[0].Version
	}
	if d.Activation <= g.highest && g.holder != d.From && !g.has(g.holder) {
		answer.Activation = g.highest
	}
	m.dispatch(d.From, answer, false)
}

// settle brings the census entry of a zone up to date after its delegates have changed. If a delegate
// is active, the entry says what that one has reported. If there are no delegates any more, and the
// zone said goodbye or never had an entry, the supervisor stops guarding it. Any other entry stays,
// and is marked as stale after a while (see age). A zone has said goodbye if its last registered delegate
// has, and the active one before. Of a zone that has fallen silent, only an active delegate can say that it has ended.
func (s *supervision) settle(m *Machine, g *guarded, bye bool) {
	defer s.rearm()
	g.due = machine.Never
	for i := range g.delegates {
		g.due = min(g.due, g.delegates[i].heard+m.cfg.Timeout)
	}
	published := g.published.Zone != ""
	switch {
	case len(g.delegates) > 0 && g.delegates[0].activation > 0:
		first := &g.delegates[0]
		s.publish(m, g, &CensusEntry{
			Zone: g.name, Activation: first.activation, Registration: first.registration,
			Delegates: g.own(), Delegate: first.ID, Version: first.Version, Size: int(first.size),
		})
	case len(g.delegates) == 0 && (bye || !published):
		s.forget(m, g)
	case published:
		s.age(m, g)
	}
}

// publish writes the entry of a zone into the census (MS-98). A zone whose entry has become too
// large is no longer guarded.
func (s *supervision) publish(m *Machine, g *guarded, e *CensusEntry) {
	if *e == g.published {
		return
	}
	value := e.appendBinary(nil)
	if m.Fits(CensusKey+g.name, value) != nil {
		s.forget(m, g)
		return
	}
	g.published = *e
	delete(s.orphans, g.name)
	m.write(wire.Attribute{Key: CensusKey + g.name, Value: value})
}

// forget makes the supervisor stop guarding a zone.
func (s *supervision) forget(m *Machine, g *guarded) {
	m.write(wire.Attribute{Key: CensusKey + g.name, Deleted: true})
	delete(s.orphans, g.name)
	delete(s.zones, g.name)
	s.names = slices.DeleteFunc(s.names, func(n string) bool { return n == g.name })
	s.release(m, g.name)
}

func (s *supervision) rearm() {
	s.due = machine.Never
	for _, name := range s.names {
		s.due = min(s.due, s.zones[name].due)
	}
}

// answer returns the answer to a query for the members of a zone (MS-99). A supervisor that has not published an
// entry of the zone does not know its members: it has not heard the active delegate yet, or another supervisor has
// taken over.
func (s *supervision) answer(zone string, number uint64) *wire.Dispatch {
	answer := &wire.Dispatch{Kind: wire.Answer, Zone: zone, Number: number}
	if g := s.zones[zone]; g == nil || g.published.Zone == "" {
		answer.Flags = wire.Unknown
	} else {
		answer.Size, answer.Joined = uint32(g.size()), g.list()
	}
	return answer
}

// alarmed passes a suspicion in a base zone on to the monitors of the management zone. It
// accepts alarms of only two kinds of senders: the zone's delegates that are registered here,
// and supervisors that pass on alarms of their own delegates.
func (m *Machine) alarmed(d *wire.Dispatch) {
	g := m.supervisor.zones[d.Zone]
	delegate, p, believed := g != nil && g.has(d.From), m.cfg.Table.Lookup(d.From), false
	switch {
	case delegate:
		_, believed = g.speaker(m, d)
	case m.view.has(p):
		believed = m.fromMember(p)
	default:
		m.stats.StrayDispatches++
		return
	}
	if !believed {
		m.stats.OtherNID++
		return
	}
	m.tell(Event{Kind: Alarmed, Zone: d.Zone, Suspect: wire.Named{ID: d.About, Version: d.AboutVersion}, Reporters: int(d.Reporters)})
	if !delegate {
		return // another supervisor passed it on: it is not passed on again
	}
	for _, p := range m.mostMonitors() {
		if id := m.cfg.Table.ID(p); p != m.self && id != d.From {
			pass := *d
			m.dispatch(id, &pass, true)
		}
	}
}
