package engine

import (
	"time"

	"ulnet/lnet/nid"
)

// heard is the latest news of a participant, and the peer that brought it.
type heard struct {
	via   nid.NID
	cycle uint64 // this node's own cycle in which the news arrived
	clock uint64
	age   uint8 // the participant's age in that news
}

// Explanation is why a participant is thought to be alive or dead.
type Explanation struct {
	Participant
	Self      bool `json:"self,omitempty"` // the participant is this node
	Threshold int  `json:"threshold"`      // age in cycles above which a participant is dead
	// Heard reports whether there was news of the participant. The fields from Cycle to AgeThen
	// describe the latest news. They are set only with Config.Trace, and if Heard is true.
	Heard    bool    `json:"heard"`
	Cycle    uint64  `json:"cycle,omitempty"`    // this node's own cycle in which the news arrived
	Ago      uint64  `json:"ago,omitempty"`      // cycles that have passed since then
	Clock    uint64  `json:"clock,omitempty"`    // this node's Lamport clock at that time
	Via      nid.NID `json:"via,omitzero"`       // the peer that sent the news; it may be the participant itself
	AgeThen  uint8   `json:"age_then,omitempty"` // the participant's age in the news, in cycles
	Resync   bool    `json:"resync,omitempty"`   // after a pause of this node: health is as it was before
	Silent   bool    `json:"silent,omitempty"`   // this node has just started, and the others do not know it yet
	Interval int64   `json:"interval_ms"`        // time between gossip cycles, in milliseconds
	// Refused says why this node drops messages of the participant. NotRefused means that it
	// drops none, as far as it knows.
	Refused      Refusal `json:"refused,omitempty"`
	RefusedClock uint64  `json:"refused_clock,omitempty"` // Lamport clock of the refused message; 0: unknown
	OwnClock     uint64  `json:"own_clock"`               // the node's own Lamport clock now
}

// Refusal is why messages of a participant are dropped.
type Refusal uint8

// The reasons why messages are dropped.
const (
	NotRefused   Refusal = iota
	RefusedCode          // the messages are not signed with this node's keys, or they are signed and this node has no keys
	RefusedAhead         // the sender's clock is far ahead of this node's
	RefusedOld           // the sender's clock is far behind this node's
)

var refusals = [...]string{"", "not-signed", "clock-ahead", "clock-behind"}

// String returns the word for the reason, an empty string for NotRefused.
func (r Refusal) String() string { return refusals[r] }

// MarshalText implements encoding.TextMarshaler.
func (r Refusal) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// refusal returns why messages of a participant are dropped, and the Lamport clock of the latest
// of them; 0: unknown.
func (m *Machine) refusal(id nid.NID) (why Refusal, clock uint64) {
	if m.params.unsigned[id] {
		return RefusedCode, 0
	}
	switch c := m.clock.claims.find(id); {
	case c == nil || m.cycle-c.last > uint64(m.limits.Dead):
		return NotRefused, 0
	case c.clock > m.clock.value:
		return RefusedAhead, c.clock
	default:
		return RefusedOld, c.clock
	}
}

// Explain returns what this node knows of a participant, and from which peer. It returns false
// if the participant is not in the list.
func (m *Machine) Explain(id nid.NID) (Explanation, bool) {
	i := m.list.Index(id)
	if i < 0 {
		return Explanation{}, false
	}
	e := Explanation{
		Participant: m.Participant(i), Self: i == m.self, Threshold: m.limits.Dead,
		Resync: m.pause.resync, Silent: m.stealth.silent, Interval: int64(m.cfg.Interval / time.Millisecond),
	}
	e.OwnClock = m.clock.value
	e.Refused, e.RefusedClock = m.refusal(id)
	if i < len(m.trace) && m.trace[i].via.IsValid() {
		t := m.trace[i]
		e.Heard, e.Cycle, e.Ago, e.Clock, e.Via, e.AgeThen = true, t.cycle, m.cycle-t.cycle, t.clock, t.via, t.age
	}
	return e, true
}
