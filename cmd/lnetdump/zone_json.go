package main

import (
	"encoding/json"
	"fmt"
	"strconv"

	"ulnet/gossip/zone/engine"
)

// MarshalJSON implements json.Marshaler.
func (m *zoneMessage) MarshalJSON() ([]byte, error) {
	e := zoneJSON{
		Kind: m.Kind.String(), Flags: m.Flags.String(), Zone: fmt.Sprintf("%016x", m.Zone), Sender: m.sender(), Version: m.Version.String(),
		Remarks: m.remarks,
	}
	switch m.Kind {
	case engine.Heartbeat:
		e.View, e.Attributes = fmt.Sprintf("%016x", m.Hash), fmt.Sprintf("%016x", m.Tables)
	case engine.LinkRefuse, engine.LinkDrop:
		e.Reason = m.Reason.String()
	}
	if l := m.Lists; l != nil {
		e.lists(m, l)
	}
	return json.Marshal(e)
}

// zoneJSON is a message of a zone as JSON. Nodes are named by their ids where the message
// is what says them, elsewhere by their names, or if those were not captured by # and their
// short form.
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
	Silent  bool   `json:"silent,omitempty"` // it was silent only
}

type zoneTable struct {
	Owner       string   `json:"owner"`
	Incarnation string   `json:"incarnation"`
	From        *string  `json:"from,omitempty"` // of data
	To          string   `json:"to"`
	Keys        []string `json:"keys,omitempty"`
}

func (e *zoneJSON) lists(m *zoneMessage, l *engine.Lists) {
	for i := range l.Leaves {
		d := &l.Leaves[i]
		e.Left = append(e.Left, zoneNode{Node: m.name(d.Node), Version: d.Version.String(), Code: &d.Code})
	}
	for _, a := range l.Alive {
		e.Alive = append(e.Alive, zoneNode{Node: m.ID(a.Node).String(), Version: a.Version.String()})
	}
	for _, s := range l.Suspicions {
		e.Suspicions = append(e.Suspicions, zoneNode{Node: m.name(s.Suspect), Version: s.Version.String(), By: m.name(s.Reporter)})
	}
	for _, s := range l.Silences {
		e.Suspicions = append(e.Suspicions, zoneNode{Node: m.name(s.Suspect), Version: s.Version.String(), By: m.name(s.Reporter), Silent: true})
	}
	for _, r := range l.Removed {
		e.Removed = append(e.Removed, zoneNode{Node: m.name(r.Node), Version: r.Version.String()})
	}
	for _, t := range l.Tables {
		e.Tables = append(e.Tables, zoneTable{Owner: m.name(t.Owner), Incarnation: decimal(t.Inc), To: decimal(t.U)})
	}
	for i := range l.Data {
		d := &l.Data[i]
		from := decimal(d.From)
		t := zoneTable{Owner: m.name(d.Owner), Incarnation: decimal(d.Inc), From: &from, To: decimal(d.To)}
		for k := range d.Entries {
			t.Keys = append(t.Keys, d.Entries[k].Key)
		}
		e.Tables = append(e.Tables, t)
	}
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
