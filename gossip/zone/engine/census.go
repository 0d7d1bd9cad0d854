package engine

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"ulnet/gossip/zone/wire"
)

// CensusKey is the prefix of attribute keys. A supervisor publishes each zone that it guards as an
// attribute whose key is this prefix, followed by the zone's name (MS-98).
const CensusKey = "zone.census/"

// CensusEntry is what the management zone knows of a base zone.
type CensusEntry struct {
	Zone         string       `json:"zone"`         // name of the base zone
	Activation   uint64       `json:"activation"`   // number of the delegate's activation; of two entries the one with the higher number takes precedence
	Registration uint64       `json:"registration"` // how often the delegate has chosen a supervisor; compared if the activations are equal
	Delegates    int          `json:"delegates"`    // number of delegates that the supervisor knows
	Delegate     wire.ID      `json:"delegate"`     // id of the active delegate
	Version      wire.Version `json:"version"`      // version of the active delegate
	Size         int          `json:"size"`         // number of members of the zone
	Supervisor   wire.ID      `json:"supervisor"`   // the supervisor that wrote the entry; not part of the attribute's value

	State CensusState   `json:"state"` // whether a supervisor hears the zone's active delegate
	Age   time.Duration `json:"age"`   // time since a supervisor last heard the active delegate, as far as this node knows; 0: just now
}

// CensusState says whether an entry is up to date.
type CensusState uint8

// The states.
const (
	Current CensusState = iota // a supervisor hears the active delegate
	Stale                      // no supervisor hears the delegate, but another delegate or supervisor may still take over
	Lost                       // no supervisor has heard the delegate for so long that the zone must be dead, or cut off from all supervisors
	censusStates
)

var censusStateNames = [censusStates]string{"current", "stale", "lost"}

// String returns the name of the state.
func (s CensusState) String() string { return name(censusStateNames[:], int(s)) }

// MarshalText implements encoding.TextMarshaler.
func (s CensusState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *CensusState) UnmarshalText(text []byte) error {
	return unmarshalName(censusStateNames[:], "state of an entry", text, (*uint8)(s))
}

// staleSize is by how many bytes the value of an entry is longer if the entry is not current.
const staleSize = 5

// appendBinary appends the value of the attribute: u64 activation, u64 registration, u32
// delegates, u32 size, id, version. An entry that was not current when it was written also has
// u8 state and u32 age in milliseconds. Readers ignore any bytes after these, which later
// versions may add.
func (e *CensusEntry) appendBinary(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(le.AppendUint64(b, e.Activation), e.Registration)
	b = le.AppendUint32(le.AppendUint32(b, uint32(e.Delegates)), uint32(e.Size))
	b = wire.Named{ID: e.Delegate, Version: e.Version}.AppendTo(b)
	if e.State != Current {
		b = le.AppendUint32(append(b, byte(e.State)), uint32(min(e.Age.Milliseconds(), math.MaxUint32)))
	}
	return b
}

// parseCensus parses the value of the attribute; ok is false if the value is not valid.
func parseCensus(zone string, b []byte) (e CensusEntry, ok bool) {
	if len(b) < 24 {
		return e, false
	}
	le := binary.LittleEndian
	e.Zone, e.Activation, e.Registration = zone, le.Uint64(b), le.Uint64(b[8:])
	e.Delegates, e.Size = int(le.Uint32(b[16:])), int(le.Uint32(b[20:]))
	n, b, err := wire.ParseNamed(b[24:])
	e.Delegate, e.Version = n.ID, n.Version
	if err == nil && len(b) > 0 {
		if len(b) < staleSize {
			return e, false
		}
		e.State = min(CensusState(b[0]), Lost)
		e.Age = time.Duration(le.Uint32(b[1:])) * time.Millisecond
	}
	return e, err == nil
}

// Census returns what the management zone knows of all base zones, sorted by name (MS-98).
func (m *Machine) Census() []CensusEntry {
	best := make(map[string]CensusEntry)
	add := func(e CensusEntry) {
		if old, dup := best[e.Zone]; !dup || old.before(&e) {
			best[e.Zone] = e
		}
	}
	for _, p := range m.attributes.order {
		r := m.attributes.of[p]
		for i := range r.entries {
			if e, ok := m.censusEntry(r, i); ok {
				add(e)
			}
		}
	}
	for _, o := range m.supervisor.orphans { // any order: of two entries of a zone, the method before always prefers the same
		if e := o.CensusEntry; m.now-o.since < forgetAfter {
			e.grow(m, m.now-o.since)
			add(e)
		}
	}
	return slices.SortedFunc(maps.Values(best), func(a, b CensusEntry) int { return strings.Compare(a.Zone, b.Zone) })
}

// censusEntry parses an attribute of a supervisor as an entry of the census; ok is false if it is no
// entry, or a deleted one.
func (m *Machine) censusEntry(r *replica, i int) (e CensusEntry, ok bool) {
	a := &r.entries[i]
	zone, found := strings.CutPrefix(a.Key, CensusKey)
	if !found || a.Deleted {
		return e, false
	}
	if e, ok = parseCensus(zone, a.Value); e.State != Current {
		e.grow(m, e.Age+m.now-time.Duration(a.since))
	}
	e.Supervisor = m.cfg.Table.ID(r.owner)
	return e, ok
}

// grow sets the age of an entry that is not current: it is stale, and lost above a certain age.
func (e *CensusEntry) grow(m *Machine, age time.Duration) {
	if e.State, e.Age = Stale, age; age >= lostAfter*m.cfg.Timeout {
		e.State = Lost
	}
}

// before reports whether another entry of the same zone takes precedence over e. A current entry takes
// precedence over an entry that is not current. If both or neither are current, the newer entry does.
func (e *CensusEntry) before(other *CensusEntry) bool {
	return cmp.Or(
		cmp.Compare(min(other.State, Stale), min(e.State, Stale)),
		cmp.Compare(e.Activation, other.Activation),
		cmp.Compare(e.Registration, other.Registration),
		e.Supervisor.Compare(other.Supervisor),
	) < 0
}

// query asks the supervisor of a base zone for the zone's members (MS-99).
func (m *Machine) query(zone string, number uint64) {
	for _, e := range m.Census() {
		if e.Zone != zone {
			continue
		}
		if e.Supervisor == m.cfg.Self {
			m.answered(m.supervisor.answer(zone, number))
			return
		}
		if m.view.has(m.cfg.Table.Lookup(e.Supervisor)) {
			m.dispatch(e.Supervisor, &wire.Dispatch{Kind: wire.Query, Zone: zone, Number: number}, false)
			return
		}
	}
	m.answered(&wire.Dispatch{Zone: zone, Number: number, Flags: wire.Unknown})
}

// answered reports the members of a zone, which a supervisor has sent.
func (m *Machine) answered(d *wire.Dispatch) {
	m.tell(Event{
		Kind: Listed, Zone: d.Zone, Number: d.Number, Size: int(d.Size), Members: d.Joined,
		Unknown: d.Flags&wire.Unknown != 0, More: d.Flags&wire.Continued != 0,
	})
}
