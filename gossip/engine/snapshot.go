package engine

import "ulnet/lnet/nid"

// Stats counts what a [Machine] did and refused.
type Stats struct {
	PingsSent       uint64 `json:"pings_sent"`       // all pings, those to second partners included
	SecondPings     uint64 `json:"second_pings"`     // pings to second partners, because the first was probably dead
	PingsReceived   uint64 `json:"pings_received"`   // pings that were accepted
	RepliesSent     uint64 `json:"replies_sent"`     // replies, with ages or without
	RepliesReceived uint64 `json:"replies_received"` // replies that were accepted
	Obsolete        uint64 `json:"obsolete"`         // messages dropped because their clock was too old
	BadClock        uint64 `json:"bad_clock"`        // messages dropped because their clock is impossible
	Realigned       uint64 `json:"realigned"`        // how often this node's clock was out of step and was set to that of the others
	Malformed       uint64 `json:"malformed"`        // messages with impossible lengths, flags or contents
	NoParticipant   uint64 `json:"for_nobody"`       // messages with ages of participants that do not exist
	NotYoung        uint64 `json:"not_young"`        // pings whose sender has an age above 0 in its own vector
	OtherVersion    uint64 `json:"other_version"`    // messages of another version of the protocol
	Disagreements   uint64 `json:"disagreements"`    // messages whose sender has other parameters
	NotSigned       uint64 `json:"not_signed"`       // messages without a code made with one of this node's keys, or with a code while this node has no keys
	Strangers       uint64 `json:"strangers"`        // messages from NIDs that are not in the list
	Quiet           uint64 `json:"quiet"`            // messages not merged because of a pause of this node
	Behind          uint64 `json:"behind"`           // pauses of this node that it noticed by a message whose clock was far ahead
	Missed          uint64 `json:"missed"`           // this node's own cycles that were missed in pauses
	BadStages       uint64 `json:"bad_stages"`       // changes of the list that were requested at the wrong time
}

// Health is whether this node considers a participant alive.
type Health uint8

// The values of Health.
const (
	Unknown Health = iota // no news has arrived of the participant: it counts as not alive
	Alive
	Dead
)

var healths = [...]string{"unknown", "alive", "dead"}

// String returns the word for the health.
func (h Health) String() string { return healths[h] }

// MarshalText implements encoding.TextMarshaler.
func (h Health) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// Participant is what this node knows of a participant.
type Participant struct {
	NID       nid.NID `json:"nid"`       // NID of the participant
	Age       uint8   `json:"age"`       // cycles since the participant was last heard of; 255: never
	Health    Health  `json:"health"`    // health of the participant, as last reported
	Aliveness uint64  `json:"aliveness"` // how often the participant has died
}

// Participant returns what this node knows of participant i.
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

// Len returns the number of participants.
func (m *Machine) Len() int { return m.list.Len() }

// List returns the list of participants.
func (m *Machine) List() *List { return m.list }

// Clock returns the value of the Lamport clock.
func (m *Machine) Clock() uint64 { return m.clock.value }

// Cycle returns the number of this node's own cycles since the start.
func (m *Machine) Cycle() uint64 { return m.cycle }

// Limits returns the limits in force.
func (m *Machine) Limits() Limits { return m.limits }

// AliveCount returns how many participants are alive, this node included.
func (m *Machine) AliveCount() int { return m.health.count }

// Quorum reports whether so many participants are alive that this node has a quorum, as it last
// reported.
func (m *Machine) Quorum() bool { return m.health.quorum }

// Silent reports whether the silence after the start lasts.
func (m *Machine) Silent() bool { return m.stealth.silent }

// Unready reports whether the silence after the start lasts, and this node has not heard of most participants yet. They
// may be silent, too, as when all were started at once.
func (m *Machine) Unready() bool { return m.stealth.silent && !m.stealth.most && !m.stopped }

// Stopped reports whether this node has stopped taking part.
func (m *Machine) Stopped() bool { return m.stopped }

// Left reports whether this node has stopped because it left the list: a list without it was committed here. A node that
// has stopped because its parameters are wrong has not left.
func (m *Machine) Left() bool { return m.left }

// AliveBits returns a bitmap of the participants that are alive, as this node last reported
// them: bit i%8 of byte i/8 stands for participant i. The bitmap belongs to the machine and is
// valid until the next Step.
func (m *Machine) AliveBits() []byte { return m.health.alive }

// Stats returns the counters so far.
func (m *Machine) Stats() Stats { return m.stats }
