package dissection

import (
	"errors"
	"fmt"
	"slices"

	zonewire "ulnet/gossip/zone/wire"
	"ulnet/lnd/capture"
	"ulnet/lnet/wire"
)

// keptIDs bounds the ids that are remembered to resolve short forms.
const keptIDs = 1 << 15

// zones is the dissector of zones. Most messages carry short forms of IDs, hashes of 64 bits:
// zones remembers the full IDs of earlier messages to resolve them.
type zones struct{ ids *bounded[uint64, zonewire.ID] }

func newZones() *zones { return &zones{newBounded[uint64, zonewire.ID](keptIDs)} }

// zoneMessage is a message between nodes of a zone.
type zoneMessage struct {
	*zonewire.Seen
	zones   *zones
	remarks []string // violations of the protocol, shown behind "odd:"
}

// read parses a message to the portal of zones.
func (z *zones) read(put wire.PutCmd, payload []byte) (capture.Understood, error) {
	var remarks []string
	if put.MatchBits != zonewire.Bits {
		remarks = remark(remarks, "match bits %#x, not %#x", put.MatchBits, uint64(zonewire.Bits))
	}
	if zonewire.IsDispatch(payload) {
		d, signed, err := zonewire.ParseDispatch(payload)
		if err != nil {
			return nil, err
		}
		z.learn(d.From)
		for _, n := range slices.Concat(d.Joined, d.Left) {
			z.learn(n.ID)
		}
		return &zoneDispatch{d, signed, remarks}, nil
	}
	seen, err := zonewire.ParseMessage(payload)
	if seen == nil || errors.Is(err, zonewire.ErrKind) && seen.Version == (zonewire.Version{}) {
		return nil, err // not even the fixed header is valid
	}
	for _, id := range seen.IDs() {
		z.learn(id)
	}
	return &zoneMessage{seen, z, remarks}, err
}

func (z *zones) learn(id zonewire.ID) { z.ids.put(id.Short(), id) }

// id returns the full id of a node, from this message or an earlier one; if neither has it, the
// invalid id.
func (m *zoneMessage) id(r zonewire.Ref) zonewire.ID {
	if id := m.ID(r); id.IsValid() {
		return id
	}
	id, _ := m.zones.ids.get(m.Short(r))
	return id
}

// name returns the name of a node, or the short form if its ID is not known.
func (m *zoneMessage) name(r zonewire.Ref) string {
	if id := m.id(r); id.IsValid() {
		return id.Name()
	}
	return m.Name(r)
}

// sender returns the name of the sender, or the short form if its ID is not known.
func (m *zoneMessage) sender() string {
	id := m.ID(m.From)
	if !id.IsValid() {
		id, _ = m.zones.ids.get(m.Sender)
	}
	if id.IsValid() {
		return id.Name()
	}
	return zonewire.ShortName(m.Sender)
}

// Summary implements capture.Understood.
func (m *zoneMessage) Summary() string {
	s := fmt.Sprintf("zone %v, %s %v", m.Kind, m.sender(), m.Version)
	if what := m.what(); what != "" {
		s += ", " + what
	}
	if flags := m.Flags &^ zonewire.Signed; flags != 0 {
		s += fmt.Sprintf(" (%v)", flags)
	}
	return s + odd(m.remarks)
}

// what returns a summary of the content of the message, which depends on its kind.
func (m *zoneMessage) what() string {
	switch m.Kind {
	case zonewire.Heartbeat:
		return fmt.Sprintf("view %016x, attributes %016x", m.Hash, m.Tables)
	case zonewire.LinkRequest, zonewire.LinkAccept:
		return "as " + rolesOf(m.Roles)
	case zonewire.LinkRefuse, zonewire.LinkDrop:
		return m.refusal()
	}
	l := m.Lists
	switch {
	case l == nil:
		return ""
	case m.Kind == zonewire.AttributeDigest || m.Kind == zonewire.AttributeRequest:
		return fmt.Sprintf("tables: %d", len(l.Tables))
	case m.Kind == zonewire.AttributeData:
		n := 0
		for i := range l.Data {
			n += len(l.Data[i].Entries)
		}
		return fmt.Sprintf("tables: %d, entries: %d", len(l.Data), n)
	}
	s := fmt.Sprintf("alive: %d", len(l.Alive))
	for _, list := range []struct {
		name string
		n    int
	}{{"left", len(l.Leaves)}, {"suspicions", len(l.Suspicions)}, {"silences", len(l.Silences)}, {"removed", len(l.Removed)}} {
		if list.n > 0 {
			s += fmt.Sprintf(", %s: %d", list.name, list.n)
		}
	}
	return s
}

func rolesOf(r zonewire.Roles) string {
	switch {
	case r == zonewire.Successor|zonewire.Random:
		return "successor and at random"
	case r == zonewire.Successor:
		return "successor"
	case r == zonewire.Random:
		return "at random"
	}
	return "wanted by the other end alone"
}

func (m *zoneMessage) refusal() string {
	switch m.Reason {
	case zonewire.Removed:
		return fmt.Sprintf("%v: the receiver, %v", m.Reason, m.AboutVersion)
	case zonewire.Redirect:
		return fmt.Sprintf("%v to %s %v", m.Reason, m.name(m.About), m.AboutVersion)
	}
	return m.Reason.String()
}

// Details implements capture.Understood.
func (m *zoneMessage) Details() []string {
	lines := []string{fmt.Sprintf("%v, version %d, flags %v, zone #%016x, sender %s", m.Kind, zonewire.ProtocolVersion, m.Flags, m.Zone, zonewire.ShortName(m.Sender))}
	if id := m.ID(m.From); id.IsValid() {
		lines = append(lines, "sender "+id.String())
	}
	if l := m.Lists; l != nil {
		lines = append(lines, m.lists(l)...)
	}
	return append(lines, remarkLines(m.remarks)...)
}

// lists returns a line for each entry of the lists, up to maxListed of each.
func (m *zoneMessage) lists(l *zonewire.Lists) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	bounded := func(n int, line func(i int)) {
		for i := range min(n, maxListed) {
			line(i)
		}
		if n > maxListed {
			say("%d more", n-maxListed)
		}
	}
	bounded(len(l.Leaves), func(i int) {
		d := &l.Leaves[i]
		say("left: %s %v, code %d", m.name(d.Node), d.Version, d.Code)
	})
	bounded(len(l.Alive), func(i int) { say("alive: %v %v", m.ID(l.Alive[i].Node), l.Alive[i].Version) })
	bounded(len(l.Suspicions), func(i int) {
		s := &l.Suspicions[i]
		say("suspicion: of %s %v by %s", m.name(s.Suspect), s.Version, m.name(s.Reporter))
	})
	bounded(len(l.Silences), func(i int) {
		s := &l.Silences[i]
		say("silence: of %s %v noticed by %s", m.name(s.Suspect), s.Version, m.name(s.Reporter))
	})
	bounded(len(l.Removed), func(i int) { say("removed: %s %v", m.name(l.Removed[i].Node), l.Removed[i].Version) })
	bounded(len(l.Tables), func(i int) {
		t := &l.Tables[i]
		say("table: %s incarnation %d, version %d", m.name(t.Owner), t.Inc, t.U)
	})
	bounded(len(l.Data), func(i int) {
		d := &l.Data[i]
		say("table: %s incarnation %d, from %d to %d, last %v", m.name(d.Owner), d.Inc, d.From, d.To, d.Last)
		bounded(len(d.Entries), func(k int) { say("  %s", zoneEntry(&d.Entries[k])) })
	})
	return lines
}

// shownValue is the number of bytes of an attribute's value that are shown.
const shownValue = 64

func zoneEntry(a *zonewire.Attribute) string {
	if a.Deleted {
		return fmt.Sprintf("%d: %q deleted", a.U, a.Key)
	}
	s := fmt.Sprintf("%d: %q = %q", a.U, a.Key, a.Value[:min(len(a.Value), shownValue)])
	if len(a.Value) > shownValue {
		s += fmt.Sprintf("…, %d bytes", len(a.Value))
	}
	return s
}
