package engine

import "ulnet/lnet/nid"

// A name takes room in a supervisor's attributes for as long as the zone is guarded, and for deathAge after that, because
// the deletion of its entry leaves a death certificate. So a node that registers zones of ever new names, and ends each
// at once, could fill the attributes by a few messages, and no other zone would have room in the census. Nor can the
// supervisor drop certificates early: each member would then get the whole table, perhaps at each write. Therefore each
// NID has a share: a node that has brought maxNames names into the census brings another one only when one of them has
// gone, with its certificate. A node usually brings one, the name of its own zone.

// maxNames is how many names of zones one NID may bring into the census of a supervisor.
const maxNames = 16

// origins has the NIDs that brought names into the census of a supervisor. A name counts while its zone is guarded, or
// the supervisor's attributes have an entry or a death certificate with that name.
type origins struct {
	of    map[string]nid.NID // by name; none of zones whose messages came without a NID, as in simulations
	count map[nid.NID]int    // number of names in the map above, by NID
}

// admit reports whether a NID may bring the name of a zone into the census.
func (o *origins) admit(zone string, by nid.NID) bool {
	return !by.IsValid() || o.count[by] < maxNames || o.of[zone] == by
}

// add counts a name for the NID that has brought it, and no longer for the one that did so before.
func (o *origins) add(zone string, by nid.NID) {
	o.drop(zone)
	if !by.IsValid() {
		return
	}
	if o.of == nil {
		o.of, o.count = make(map[string]nid.NID), make(map[nid.NID]int)
	}
	o.of[zone] = by
	o.count[by]++
}

// drop no longer counts a name.
func (o *origins) drop(zone string) {
	by, ok := o.of[zone]
	if !ok {
		return
	}
	delete(o.of, zone)
	if o.count[by]--; o.count[by] == 0 {
		delete(o.count, by)
	}
}

// release no longer counts a name if it takes no room any more.
func (s *supervision) release(m *Machine, zone string) {
	r := m.attributes.of[m.self]
	if s.zones[zone] == nil && (r == nil || r.find(CensusKey+zone) < 0) {
		s.origins.drop(zone)
	}
}
