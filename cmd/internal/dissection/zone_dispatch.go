package dissection

import (
	"fmt"

	"ulnet/gossip/zone/wire"
)

// zoneDispatch is a message that goes between a base zone and the management zone.
type zoneDispatch struct {
	*wire.Dispatch
	signed  bool
	remarks []string
}

// Summary implements capture.Understood.
func (d *zoneDispatch) Summary() string {
	s := fmt.Sprintf("zone %v, %s %v, for %s", d.Kind, d.From.Name(), d.Version, d.Zone)
	switch d.Kind {
	case wire.Register, wire.Answer:
		s += fmt.Sprintf(", members: %d", d.Size)
	case wire.Alarm:
		s += fmt.Sprintf(", %s %v suspected by %d", d.About.Name(), d.AboutVersion, d.Reporters)
	}
	if len(d.Joined) > 0 {
		s += fmt.Sprintf(", joined: %d", len(d.Joined))
	}
	if len(d.Left) > 0 {
		s += fmt.Sprintf(", left: %d", len(d.Left))
	}
	return s + odd(d.remarks)
}

// Details implements capture.Understood.
func (d *zoneDispatch) Details() []string {
	lines := []string{
		fmt.Sprintf("%v, version %d, flags %#x, signed %v, activation %d, registration %d", d.Kind, wire.ProtocolVersion, uint16(d.Flags), d.signed, d.Activation, d.Registration),
		fmt.Sprintf("from %v %v", d.From, d.Version),
		fmt.Sprintf("view %016x, supervisors %016x, number %d", d.Hash, d.Known, d.Number),
	}
	for _, list := range []struct {
		name  string
		nodes []wire.Named
	}{{"joined", d.Joined}, {"left", d.Left}} {
		lines = append(lines, boundedLines(len(list.nodes), "%d more", func(i int) string {
			return fmt.Sprintf("%s: %v %v", list.name, list.nodes[i].ID, list.nodes[i].Version)
		})...)
	}
	return append(lines, remarkLines(d.remarks)...)
}

// MarshalJSON implements json.Marshaler.
func (d *zoneDispatch) MarshalJSON() ([]byte, error) {
	o := object{
		{"kind", d.Kind.String()},
		{"from", d.From.String()},
		{"version", d.Version.String()},
		{"base_zone", d.Zone},
		{"activation", decimal(d.Activation)},
		{"registration", decimal(d.Registration)},
		{"size", d.Size},
	}
	if d.About.IsValid() {
		o.put("about", d.About.String())
		o.some("reporters", d.Reporters)
	}
	o.some("joined", namedObjects(d.Joined))
	o.some("left", namedObjects(d.Left))
	o.some("odd", d.remarks)
	return o.MarshalJSON()
}

func namedObjects(nodes []wire.Named) (list []object) {
	for _, n := range nodes {
		list = append(list, zoneNode(n.ID.String(), n.Version))
	}
	return list
}
