package engine

import "ulnet/lnet/nid"

// Stats counts what a [Machine] did and refused.
type Stats struct {
	PingsSent       uint64 `json:"pings_sent"`       // all pings, those to second partners included
	SecondPings     uint64 `json:"second_pings"`     // of these, in cycles whose first partner was probably dead
	PingsReceived   uint64 `json:"pings_received"`   // and taken
	RepliesSent     uint64 `json:"replies_sent"`     // with ages or without
	RepliesReceived uint64 `json:"replies_received"` // and taken
	Obsolete        uint64 `json:"obsolete"`         // messages with an old clock
	BadClock        uint64 `json:"bad_clock"`        // with an impossible clock
	Realigned       uint64 `json:"realigned"`        // times that our clock was out of step and was set to that of the others
	Malformed       uint64 `json:"malformed"`        // with a length, flags or a form that cannot be
	NoParticipant   uint64 `json:"for_nobody"`       // with ages of participants that do not exist
	NotYoung        uint64 `json:"not_young"`        // pings whose sender has an age above 0 in its own vector
	OtherVersion    uint64 `json:"other_version"`    // of another version of the protocol
	Disagreements   uint64 `json:"disagreements"`    // with other parameters
	NotSigned       uint64 `json:"not_signed"`       // without a code made with one of our keys, or with one while we have none
	Strangers       uint64 `json:"strangers"`        // from NIDs that are not in the list
	Quiet           uint64 `json:"quiet"`            // not merged because of a pause of this node
	Behind          uint64 `json:"behind"`           // pauses of this node that a clock far ahead showed
	Missed          uint64 `json:"missed"`           // own cycles that did not take place
	BadStages       uint64 `json:"bad_stages"`       // changes of the list at the wrong time
}

// Health is what is thought of a participant.
type Health uint8

// The healths.
const (
	Unknown Health = iota // never heard of, so not alive
	Alive
	Dead
)

var healths = [...]string{"unknown", "alive", "dead"}

// String returns the word for it.
func (h Health) String() string { return healths[h] }

// MarshalText implements encoding.TextMarshaler.
func (h Health) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// Participant is what this node knows of a participant.
type Participant struct {
	NID       nid.NID `json:"nid"`       // of the participant
	Age       uint8   `json:"age"`       // cycles since it was last heard of; 255: never
	Health    Health  `json:"health"`    // as last reported
	Aliveness uint64  `json:"aliveness"` // how often it has died
}

// Participant returns what is known of participant i.
func (m *Machine) Participant(i int) Participant {
	p := Participant{NID: m.list.NID(i), Age: unheard}
	if i >= m.ages.n {
		return p
	}
	p.Age, p.Aliveness = m.ages.bytes[i], m.health.died[i]
	switch {
	case m.health.is(i):
		p.Health = Alive
	case p.Age != unheard || p.Aliveness > 0:
		p.Health = Dead
	}
	return p
}

// Len is the number of participants.
func (m *Machine) Len() int { return m.list.Len() }

// List is the list of participants.
func (m *Machine) List() *List { return m.list }

// Clock is the Lamport clock.
func (m *Machine) Clock() uint64 { return m.clock.value }

// Cycle is the number of this node's own cycles.
func (m *Machine) Cycle() uint64 { return m.cycle }

// Limits returns the limits in force.
func (m *Machine) Limits() Limits { return m.limits }

// AliveCount is how many are alive, this one included.
func (m *Machine) AliveCount() int { return m.health.count }

// Quorum reports whether enough are alive.
func (m *Machine) Quorum() bool { return m.health.quorum }

// Silent reports whether the silence after the start lasts.
func (m *Machine) Silent() bool { return m.stealth.silent }

// Stopped reports whether the machine takes part no more.
func (m *Machine) Stopped() bool { return m.stopped }

// AliveBits are the participants that are alive, as last reported: bit i%8 of byte i/8 is
// that of participant i. It belongs to the machine and is valid until the next Step.
func (m *Machine) AliveBits() []byte { return m.health.alive }

// Stats returns the counters so far.
func (m *Machine) Stats() Stats { return m.stats }
