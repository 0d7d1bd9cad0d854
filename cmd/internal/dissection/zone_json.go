package dissection

import (
	"fmt"
	"slices"

	"ulnet/gossip/zone/wire"
)

// MarshalJSON implements json.Marshaler. In lists that carry full ids, a node is shown by its
// id. Elsewhere it is shown by its name or, if its id is unknown, by # and the short form.
func (m *zoneMessage) MarshalJSON() ([]byte, error) {
	o := object{{"kind", m.Kind.String()}}
	o.some("flags", m.Flags.String())
	o.put("zone", fmt.Sprintf("%016x", m.Zone))
	o.put("sender", m.sender())
	o.put("version", m.Version.String())
	switch m.Kind {
	case wire.Heartbeat:
		o.put("view", fmt.Sprintf("%016x", m.Hash))
		o.put("attributes", fmt.Sprintf("%016x", m.Tables))
	case wire.LinkRefuse, wire.LinkDrop:
		o.some("reason", m.Reason.String())
	}
	if l := m.Lists; l != nil {
		m.putNodes(&o, l)
		m.putTables(&o, l)
	}
	o.some("odd", m.remarks)
	return o.MarshalJSON()
}

func zoneNode(node string, v wire.Version) object {
	return object{{"node", node}, {"version", v.String()}}
}

func (m *zoneMessage) putNodes(o *object, l *wire.Lists) {
	var left, alive, suspicions, removed []object
	for _, d := range l.Leaves {
		left = append(left, append(zoneNode(m.name(d.Node), d.Version), objectField{"code", d.Code}))
	}
	for _, a := range l.Alive {
		alive = append(alive, zoneNode(m.ID(a.Node).String(), a.Version))
	}
	for i, s := range slices.Concat(l.Suspicions, l.Silences) {
		e := zoneNode(m.name(s.Suspect), s.Version)
		e.some("by", m.name(s.Reporter))
		e.some("silent", i >= len(l.Suspicions)) // true for the entries of the second list, l.Silences
		suspicions = append(suspicions, e)
	}
	for _, r := range l.Removed {
		removed = append(removed, zoneNode(m.name(r.Node), r.Version))
	}
	o.some("left", left)
	o.some("alive", alive)
	o.some("suspicions", suspicions)
	o.some("removed", removed)
}

func (m *zoneMessage) putTables(o *object, l *wire.Lists) {
	var tables []object
	for _, t := range l.Tables {
		tables = append(tables, object{{"owner", m.name(t.Owner)}, {"incarnation", decimal(t.Inc)}, {"to", decimal(t.U)}})
	}
	for _, d := range l.Data {
		var keys []string
		for _, e := range d.Entries {
			keys = append(keys, e.Key)
		}
		t := object{{"owner", m.name(d.Owner)}, {"incarnation", decimal(d.Inc)}, {"from", decimal(d.From)}, {"to", decimal(d.To)}}
		t.some("keys", keys)
		tables = append(tables, t)
	}
	o.some("tables", tables)
}
