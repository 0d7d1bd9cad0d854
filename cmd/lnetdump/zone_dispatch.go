package main

import (
	"encoding/json"
	"fmt"

	"ulnet/gossip/zone/engine"
)

// zoneDispatch is a message between a base zone and the management zone.
type zoneDispatch struct {
	*engine.Dispatch
	signed  bool
	remarks []string
}

// Summary implements capture.Understood.
func (d *zoneDispatch) Summary() string {
	s := fmt.Sprintf("zone %v, %s %v, for %s", d.Kind, d.From.Name(), d.Version, d.Zone)
	switch d.Kind {
	case engine.Register, engine.Answer:
		s += fmt.Sprintf(", members: %d", d.Size)
	case engine.Alarm:
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
		fmt.Sprintf("%v, version %d, flags %#x, signed %v, activation %d, registration %d", d.Kind, engine.ProtocolVersion, uint16(d.Flags), d.signed, d.Activation, d.Registration),
		fmt.Sprintf("from %v %v", d.From, d.Version),
		fmt.Sprintf("view %016x, supervisors %016x, number %d", d.Hash, d.Known, d.Number),
	}
	for _, list := range []struct {
		name  string
		nodes []engine.Named
	}{{"joined", d.Joined}, {"left", d.Left}} {
		for i, n := range list.nodes {
			if i == maxMissingLines {
				lines = append(lines, fmt.Sprintf("%d more", len(list.nodes)-i))
				break
			}
			lines = append(lines, fmt.Sprintf("%s: %v %v", list.name, n.ID, n.Version))
		}
	}
	return append(lines, remarkLines(d.remarks)...)
}

// MarshalJSON implements json.Marshaler.
func (d *zoneDispatch) MarshalJSON() ([]byte, error) {
	e := dispatchJSON{
		Kind: d.Kind.String(), From: d.From.String(), Version: d.Version.String(), Zone: d.Zone, Activation: decimal(d.Activation),
		Registration: decimal(d.Registration), Size: d.Size, Remarks: d.remarks,
	}
	if d.About.IsValid() {
		e.About, e.Reporters = d.About.String(), d.Reporters
	}
	for _, n := range d.Joined {
		e.Joined = append(e.Joined, zoneNode{Node: n.ID.String(), Version: n.Version.String()})
	}
	for _, n := range d.Left {
		e.Left = append(e.Left, zoneNode{Node: n.ID.String(), Version: n.Version.String()})
	}
	return json.Marshal(e)
}

// dispatchJSON is a message between zones as JSON.
type dispatchJSON struct {
	Kind         string     `json:"kind"`
	From         string     `json:"from"`
	Version      string     `json:"version"`
	Zone         string     `json:"base_zone"`
	Activation   string     `json:"activation"`
	Registration string     `json:"registration"`
	Size         uint32     `json:"size"`
	About        string     `json:"about,omitempty"`
	Reporters    uint32     `json:"reporters,omitempty"`
	Joined       []zoneNode `json:"joined,omitempty"`
	Left         []zoneNode `json:"left,omitempty"`
	Remarks      []string   `json:"odd,omitempty"`
}
