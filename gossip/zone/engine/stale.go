package engine

import (
	"strings"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/nid"
)

// The census entry of a base zone without a registered active delegate becomes stale: it
// is kept, with its age, and is dropped after a very long time, or when there is no room
// for a live zone.

const (
	// staleAfter is a time in units of τ. A zone's entry becomes stale when its active delegate has
	// been silent for a timeout plus this time, in which another delegate of the zone can take over.
	staleAfter = 5
	// lostAfter is how many timeouts without an active delegate make a zone lost. A delegate's
	// search for a supervisor takes mostFailures timeouts; the other half of lostAfter is for a
	// delegate whose search began later.
	lostAfter = 2 * mostFailures
	// forgetAfter is how long a zone that is lost stays in the census.
	forgetAfter = 24 * time.Hour
)

// orphan is a census entry whose supervisor left the management zone. The field since is the time
// when it left.
type orphan struct {
	CensusEntry
	since time.Duration
}

// age marks the entry of a zone as stale after the zone has had no active delegate for a while. If
// another supervisor has a current entry of that zone, age removes this supervisor's entry instead.
func (s *supervision) age(m *Machine, g *guarded) {
	silent := m.now - g.active
	switch patience := m.cfg.Timeout + staleAfter*m.cfg.Aggregation; {
	case silent < patience:
		g.due = min(g.due, g.active+patience)
		return
	case silent >= forgetAfter && len(g.delegates) == 0:
		s.forget(m, g)
		return
	case s.elsewhere(m, g):
		s.yield(m, g)
		return
	}
	g.due = min(g.due, m.now+m.cfg.Timeout) // look again for entries of other supervisors
	// A supervisor that joins after the entry was written sees only the time since its join, and adds that to the
	// age in the entry. So write the present age for it.
	if e := g.published; e.State == Current || s.joined > g.aged {
		g.aged, g.parted = m.now, false
		e.State, e.Age, e.Delegates = Stale, silent, g.own()
		s.publish(m, g, &e)
	}
}

// elsewhere reports whether another supervisor has a current entry of a zone.
func (s *supervision) elsewhere(m *Machine, g *guarded) bool {
	for _, p := range m.attributes.order {
		r := m.attributes.of[p]
		if i := r.find(CensusKey + g.name); p != m.self && i >= 0 {
			if e, ok := m.censusEntry(r, i); ok && e.State == Current {
				return true
			}
		}
	}
	return false
}

// yield leaves the census entry of a zone to another supervisor, and keeps the delegates that
// are registered here.
func (s *supervision) yield(m *Machine, g *guarded) {
	if len(g.delegates) == 0 {
		s.forget(m, g)
		return
	}
	m.write(wire.Attribute{Key: CensusKey + g.name, Deleted: true})
	g.published, g.hash = CensusEntry{}, 0
	clear(g.members)
}

// evict forgets the zone that has been lost for the longest time, of those that a NID has brought, or of all zones if
// the NID is not valid. It returns false if no zone is lost.
func (s *supervision) evict(m *Machine, by nid.NID) bool {
	var oldest *guarded
	for _, name := range s.names {
		if by.IsValid() && s.origins.of[name] != by {
			continue
		}
		if g := s.zones[name]; len(g.delegates) == 0 && m.now-g.active >= lostAfter*m.cfg.Timeout && (oldest == nil || g.active < oldest.active) {
			oldest = g
		}
	}
	if oldest != nil {
		s.forget(m, oldest)
		s.rearm() // the next deadline can have been that of the zone
	}
	return oldest != nil
}

// memberLeft keeps the entries of a supervisor that left the management zone.
func (s *supervision) memberLeft(m *Machine, p wire.Ref) {
	r := m.attributes.of[p]
	if r == nil {
		return
	}
	for i := range r.entries {
		if e, ok := m.censusEntry(r, i); ok {
			s.adopt(m, &orphan{e, m.now - e.Age})
		}
	}
}

// adopt keeps the entry of a supervisor that left. If another entry of the same zone is kept already, the new
// entry replaces it, unless the new one is not current and the kept one takes precedence.
func (s *supervision) adopt(m *Machine, o *orphan) {
	old, dup := s.orphans[o.Zone]
	switch {
	case dup && o.State != Current && o.before(&old.CensusEntry):
		return
	case !dup && len(s.orphans) >= maxGuarded:
		s.evictOrphan()
	}
	if s.orphans == nil {
		s.orphans = make(map[string]orphan)
	}
	s.orphans[o.Zone] = *o
}

func (s *supervision) evictOrphan() {
	var first string
	for zone, o := range s.orphans { // any order: the loop finds the oldest orphan, or the first by name if several are equally old
		if old := s.orphans[first]; first == "" || o.since < old.since || o.since == old.since && zone < first {
			first = zone
		}
	}
	delete(s.orphans, first)
}

// attributes processes what another supervisor wrote. If a zone has an entry again, or said
// goodbye, attributes drops this supervisor's orphan of that zone.
func (s *supervision) attributes(m *Machine, r *replica, keys []string) {
	if len(s.orphans) == 0 {
		return
	}
	for _, key := range keys {
		zone, found := strings.CutPrefix(key, CensusKey)
		if !found {
			continue
		}
		i := r.find(key)
		gone := i < 0 || r.entries[i].Deleted
		if !gone {
			e, ok := m.censusEntry(r, i)
			gone = ok && e.State == Current
		}
		if gone {
			delete(s.orphans, zone)
		}
	}
}
