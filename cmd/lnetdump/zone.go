package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"ulnet/gossip/zone"
	"ulnet/lnd/capture"
	"ulnet/lnet/wire"
)

// zoneMessage is a message between nodes of a zone.
type zoneMessage struct {
	*zone.Seen
	remarks []string // what is odd about it
}

// readZone reads what came to the portal of zones.
func readZone(put wire.PutCmd, payload []byte) (capture.Understood, error) {
	var remarks []string
	if put.MatchBits != zone.Bits {
		remarks = remark(remarks, "match bits %#x, not %#x", put.MatchBits, uint64(zone.Bits))
	}
	if zone.IsDispatch(payload) {
		d, signed, err := zone.ParseSignedDispatch(payload)
		if err != nil {
			return nil, err
		}
		return &zoneDispatch{d, signed, remarks}, nil
	}
	seen, err := zone.ParseMessage(payload)
	if seen == nil || errors.Is(err, zone.ErrKind) && seen.Version == (zone.Version{}) {
		return nil, err // nothing of it can be trusted
	}
	return &zoneMessage{seen, remarks}, err
}

// sender is the name of who sent a message, if it says that, or else its short form.
func (m *zoneMessage) sender() string {
	if id := m.ID(m.From); id.IsValid() {
		return id.Name()
	}
	return zone.ShortName(m.Sender)
}

// Summary implements capture.Understood.
func (m *zoneMessage) Summary() string {
	s := fmt.Sprintf("zone %v, %s %v", m.Kind, m.sender(), m.Version)
	if what := m.what(); what != "" {
		s += ", " + what
	}
	if flags := m.Flags &^ zone.Signed; flags != 0 {
		s += fmt.Sprintf(" (%v)", flags)
	}
	return s + odd(m.remarks)
}

// what says what a message of its kind does.
func (m *zoneMessage) what() string {
	switch m.Kind {
	case zone.Heartbeat:
		return fmt.Sprintf("view %016x, attributes %016x", m.Hash, m.Tables)
	case zone.LinkRequest, zone.LinkAccept:
		return "as " + rolesOf(m.Roles)
	case zone.LinkRefuse, zone.LinkDrop:
		return m.refusal()
	}
	l := m.Lists
	switch {
	case l == nil:
		return ""
	case m.Kind == zone.AttributeDigest || m.Kind == zone.AttributeRequest:
		return fmt.Sprintf("tables: %d", len(l.Tables))
	case m.Kind == zone.AttributeData:
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
	}{{"left", len(l.Leaves)}, {"suspicions", len(l.Suspicions)}, {"removed", len(l.Removed)}} {
		if list.n > 0 {
			s += fmt.Sprintf(", %s: %d", list.name, list.n)
		}
	}
	return s
}

func rolesOf(r zone.Roles) string {
	switch {
	case r == zone.Successor|zone.Random:
		return "successor and at random"
	case r == zone.Successor:
		return "successor"
	case r == zone.Random:
		return "at random"
	}
	return "wanted by the other end alone"
}

func (m *zoneMessage) refusal() string {
	switch m.Reason {
	case zone.Removed:
		return fmt.Sprintf("%v: the receiver, %v", m.Reason, m.AboutVersion)
	case zone.Redirect:
		return fmt.Sprintf("%v to %s %v", m.Reason, m.Name(m.About), m.AboutVersion)
	}
	return m.Reason.String()
}

// Details implements capture.Understood.
func (m *zoneMessage) Details() []string {
	lines := []string{fmt.Sprintf("%v, version %d, flags %v, zone #%016x, sender %s", m.Kind, zone.ProtocolVersion, m.Flags, m.Zone, zone.ShortName(m.Sender))}
	if id := m.ID(m.From); id.IsValid() {
		lines = append(lines, "sender "+id.String())
	}
	if l := m.Lists; l != nil {
		lines = append(lines, m.lists(l)...)
	}
	return append(lines, remarkLines(m.remarks)...)
}

// lists are a line for each entry of the lists, up to a bound.
func (m *zoneMessage) lists(l *zone.Lists) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	bounded := func(n int, line func(i int)) {
		for i := range min(n, maxMissingLines) {
			line(i)
		}
		if n > maxMissingLines {
			say("%d more", n-maxMissingLines)
		}
	}
	bounded(len(l.Leaves), func(i int) {
		d := &l.Leaves[i]
		say("left: %s %v, code %d", m.Name(d.Node), d.Version, d.Code)
	})
	bounded(len(l.Alive), func(i int) { say("alive: %v %v", m.ID(l.Alive[i].Node), l.Alive[i].Version) })
	bounded(len(l.Suspicions), func(i int) {
		s := &l.Suspicions[i]
		say("suspicion: of %s %v by %s", m.Name(s.Suspect), s.Version, m.Name(s.Reporter))
	})
	bounded(len(l.Removed), func(i int) { say("removed: %s %v", m.Name(l.Removed[i].Node), l.Removed[i].Version) })
	bounded(len(l.Tables), func(i int) {
		t := &l.Tables[i]
		say("table: %s life %d, version %d", m.Name(t.Owner), t.Inc, t.U)
	})
	bounded(len(l.Data), func(i int) {
		d := &l.Data[i]
		say("table: %s life %d, from %d to %d, last %v", m.Name(d.Owner), d.Inc, d.From, d.To, d.Last)
		bounded(len(d.Entries), func(k int) { say("  %s", zoneEntry(&d.Entries[k])) })
	})
	return lines
}

// shownValue is how much of an attribute's value is shown, in bytes.
const shownValue = 64

func zoneEntry(a *zone.Attribute) string {
	if a.Deleted {
		return fmt.Sprintf("%d: %q deleted", a.U, a.Key)
	}
	s := fmt.Sprintf("%d: %q = %q", a.U, a.Key, a.Value[:min(len(a.Value), shownValue)])
	if len(a.Value) > shownValue {
		s += fmt.Sprintf("…, %d bytes", len(a.Value))
	}
	return s
}

// MarshalJSON implements json.Marshaler.
func (m *zoneMessage) MarshalJSON() ([]byte, error) {
	e := zoneJSON{
		Kind: m.Kind.String(), Flags: m.Flags.String(), Zone: fmt.Sprintf("%016x", m.Zone), Sender: m.sender(), Version: m.Version.String(),
		Remarks: m.remarks,
	}
	switch m.Kind {
	case zone.Heartbeat:
		e.View, e.Attributes = fmt.Sprintf("%016x", m.Hash), fmt.Sprintf("%016x", m.Tables)
	case zone.LinkRefuse, zone.LinkDrop:
		e.Reason = m.Reason.String()
	}
	if l := m.Lists; l != nil {
		e.lists(m, l)
	}
	return json.Marshal(e)
}

// zoneJSON is a message of a zone as JSON. Nodes are named by their ids, or where the
// message has only that by # and their short form.
type zoneJSON struct {
	Kind       string      `json:"kind"`
	Flags      string      `json:"flags,omitempty"`
	Zone       string      `json:"zone"`
	Sender     string      `json:"sender"`
	Version    string      `json:"version"`
	View       string      `json:"view,omitempty"`
	Attributes string      `json:"attributes,omitempty"`
	Reason     string      `json:"reason,omitempty"`
	Left       []zoneNode  `json:"left,omitempty"`
	Alive      []zoneNode  `json:"alive,omitempty"`
	Suspicions []zoneNode  `json:"suspicions,omitempty"`
	Removed    []zoneNode  `json:"removed,omitempty"`
	Tables     []zoneTable `json:"tables,omitempty"`
	Remarks    []string    `json:"odd,omitempty"`
}

type zoneNode struct {
	Node    string `json:"node"`
	Version string `json:"version"`
	Code    *int32 `json:"code,omitempty"`
	By      string `json:"by,omitempty"`
}

type zoneTable struct {
	Owner       string   `json:"owner"`
	Incarnation string   `json:"incarnation"`
	From        *string  `json:"from,omitempty"` // of data
	To          string   `json:"to"`
	Keys        []string `json:"keys,omitempty"`
}

func (e *zoneJSON) lists(m *zoneMessage, l *zone.Lists) {
	for i := range l.Leaves {
		d := &l.Leaves[i]
		e.Left = append(e.Left, zoneNode{Node: m.Name(d.Node), Version: d.Version.String(), Code: &d.Code})
	}
	for _, a := range l.Alive {
		e.Alive = append(e.Alive, zoneNode{Node: m.ID(a.Node).String(), Version: a.Version.String()})
	}
	for _, s := range l.Suspicions {
		e.Suspicions = append(e.Suspicions, zoneNode{Node: m.Name(s.Suspect), Version: s.Version.String(), By: m.Name(s.Reporter)})
	}
	for _, r := range l.Removed {
		e.Removed = append(e.Removed, zoneNode{Node: m.Name(r.Node), Version: r.Version.String()})
	}
	for _, t := range l.Tables {
		e.Tables = append(e.Tables, zoneTable{Owner: m.Name(t.Owner), Incarnation: decimal(t.Inc), To: decimal(t.U)})
	}
	for i := range l.Data {
		d := &l.Data[i]
		from := decimal(d.From)
		t := zoneTable{Owner: m.Name(d.Owner), Incarnation: decimal(d.Inc), From: &from, To: decimal(d.To)}
		for k := range d.Entries {
			t.Keys = append(t.Keys, d.Entries[k].Key)
		}
		e.Tables = append(e.Tables, t)
	}
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
