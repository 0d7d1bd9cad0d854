package gossip

import "ulnet/gossip/engine"

// Error is what is wrong with a configuration, a list or a change of it. Its NIDs, if it
// has any, are the participants that are not known to have staged the list.
type Error = engine.Error

// Health is what is thought of a participant.
type Health = engine.Health

// The healths. Unknown is that of a participant that was never heard of; it counts as dead.
const (
	Unknown = engine.Unknown
	Alive   = engine.Alive
	Dead    = engine.Dead
)

// Participant is what is known of one: NID, Age, Health and how often it has died.
type Participant = engine.Participant

// Explanation is why a participant is thought to be alive or dead.
type Explanation = engine.Explanation

// RollStatus is how far a change of the list of participants is.
type RollStatus = engine.RollStatus

// EventKind tells events apart.
type EventKind = engine.EventKind

// The kinds of events. The first two, Disagreed, NotSigned and ClockRefused are of a
// participant, the others of this node.
const (
	Died         = engine.Died // was alive and is not any more
	CameAlive    = engine.CameAlive
	QuorumWon    = engine.QuorumWon
	QuorumLost   = engine.QuorumLost
	Disagreed    = engine.Disagreed    // its parameters are not ours; told once for each
	Stopped      = engine.Stopped      // we take part no more, because our parameters are wrong
	Left         = engine.Left         // we take part no more, because the new list is without us
	SpeaksUp     = engine.SpeaksUp     // the silence after the start has ended
	Paused       = engine.Paused       // we stood still
	Resynced     = engine.Resynced     // health is reported again
	Realigned    = engine.Realigned    // our clock was out of step with all others, and has been set
	NotSigned    = engine.NotSigned    // its messages are not signed with our keys; told once for each
	ClockRefused = engine.ClockRefused // its clock is impossible
)
