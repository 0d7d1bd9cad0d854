package engine

import (
	"slices"

	"ulnet/lnet/nid"
)

// EventKind tells events apart.
type EventKind uint8

// The kinds of events, with the fields of [Event] that they use.
const (
	Died         EventKind = iota // sets NID and Aliveness: the participant was alive and is not any more
	CameAlive                     // sets NID and Aliveness: the participant is alive, and was dead or never heard of before
	QuorumWon                     // sets Alive: this node has a quorum now
	QuorumLost                    // sets Alive: this node has no quorum any more
	Disagreed                     // sets NID: a participant with other parameters than this node; reported once for each
	Stopped                       // this node has stopped, because its parameters are the wrong ones; sets NID: a participant with other parameters
	Left                          // this node has stopped, because the new list is without it
	SpeaksUp                      // the silence after the start has ended
	Paused                        // sets Cycles: the number of cycles that were missed
	Resynced                      // this node reports health events again, after a pause
	Realigned                     // this node's clock was out of step with all others, and has been set
	NotSigned                     // sets NID: a node whose messages are not signed with this node's keys; reported once for each
	ClockRefused                  // sets NID: a participant whose clock is impossible; at most once in Limits.Dead cycles of this node
)

// Event is an event that the machine reports to its caller.
type Event struct {
	Kind      EventKind // decides which fields are set
	NID       nid.NID   // the participant that the event is about
	Aliveness uint64    // how often the participant has died
	Alive     int       // number of live participants, this node included
	Cycles    uint64    // number of this node's cycles that were missed, silent or in resync
	Clock     uint64    // the node's own Lamport clock
	Message   bool      // a message caused the event, not the passing of time
	Header    uint64    // the Lamport clock in that message
}

var eventNames = [...]string{
	Died: "died", CameAlive: "alive", QuorumWon: "quorum", QuorumLost: "no-quorum", Disagreed: "disagreed",
	Stopped: "stopped", Left: "left", SpeaksUp: "speaks-up", Paused: "paused", Resynced: "resynced",
	Realigned: "realigned", NotSigned: "not-signed", ClockRefused: "clock-refused",
}

// EventNames returns the names of all kinds of events.
func EventNames() []string { return slices.Clone(eventNames[:]) }

// String returns the name of the kind.
func (k EventKind) String() string { return eventNames[k] }

// MarshalText implements encoding.TextMarshaler.
func (k EventKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
