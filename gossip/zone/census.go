package zone

import (
	"encoding/binary"
	"slices"
	"strings"
)

// CensusKey begins the attributes by which supervisors publish the zones that they
// guard; the zone's name follows (MS-98).
const CensusKey = "zone.census/"

// CensusEntry is what is known of a base zone in the management zone.
type CensusEntry struct {
	Zone         string  `json:"zone"`
	Activation   uint64  `json:"activation"`   // of the active delegate: of two entries the higher one counts
	Registration uint64  `json:"registration"` // how often the delegate has chosen a supervisor; then this
	Delegates    int     `json:"delegates"`    // that the supervisor knows
	Delegate     ID      `json:"delegate"`     // the active one
	Version      Version `json:"version"`      // of it
	Size         int     `json:"size"`         // members of the zone
	Supervisor   ID      `json:"supervisor"`   // not in the attribute: whose it is
}

// appendBinary appends the value of the attribute: u64 activation, u64 registration,
// u32 delegates, u32 size, id, version.
func (e *CensusEntry) appendBinary(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(le.AppendUint64(b, e.Activation), e.Registration)
	b = le.AppendUint32(le.AppendUint32(b, uint32(e.Delegates)), uint32(e.Size))
	return appendNamed(b, Named{e.Delegate, e.Version})
}

// parseCensus parses the value of the attribute.
func parseCensus(zone string, b []byte) (e CensusEntry, ok bool) {
	le := binary.LittleEndian
	p := namedParser{b: b}
	e.Zone, e.Activation, e.Registration = zone, le.Uint64(p.take(8)), le.Uint64(p.take(8))
	e.Delegates, e.Size = int(le.Uint32(p.take(4))), int(le.Uint32(p.take(4)))
	n := p.named(false)
	e.Delegate, e.Version = n.ID, n.Version
	return e, p.err == nil && len(p.b) == 0
}

// Census returns what the management zone knows of all base zones, in the order of
// their names (MS-98).
func (m *Machine) Census() []CensusEntry {
	best := make(map[string]CensusEntry)
	for _, p := range m.attributes.order {
		for _, a := range m.attributes.of[p].entries {
			zone, found := strings.CutPrefix(a.Key, CensusKey)
			if !found || a.Deleted {
				continue
			}
			e, ok := parseCensus(zone, a.Value)
			e.Supervisor = m.cfg.Table.ID(p)
			if old, dup := best[zone]; ok && (!dup || old.before(&e)) {
				best[zone] = e
			}
		}
	}
	list := make([]CensusEntry, 0, len(best))
	for _, e := range best { // any order: sorted below
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b CensusEntry) int { return strings.Compare(a.Zone, b.Zone) })
	return list
}

// before reports whether another entry of the same zone is newer.
func (e *CensusEntry) before(other *CensusEntry) bool {
	switch {
	case e.Activation != other.Activation:
		return e.Activation < other.Activation
	case e.Registration != other.Registration:
		return e.Registration < other.Registration
	}
	return e.Supervisor.Compare(other.Supervisor) < 0
}

// query asks the supervisor of a base zone who is in it (MS-99).
func (m *Machine) query(zone string, number uint64) {
	for _, e := range m.Census() {
		if e.Zone != zone {
			continue
		}
		if g := m.supervisor.zones[zone]; g != nil && e.Supervisor == m.cfg.Self {
			m.answered(&Dispatch{Zone: zone, Number: number, Size: uint32(len(g.members)), Joined: g.list()})
			return
		}
		m.dispatch(e.Supervisor, &Dispatch{Kind: Query, Zone: zone, Number: number}, false)
		return
	}
	m.answered(&Dispatch{Zone: zone, Number: number, Flags: Unknown})
}

// answered tells the user who is in a zone.
func (m *Machine) answered(d *Dispatch) {
	m.tell(Event{
		Kind: Listed, Zone: d.Zone, Number: d.Number, Size: int(d.Size), Members: d.Joined,
		Unknown: d.Flags&Unknown != 0, More: d.Flags&Continued != 0,
	})
}
