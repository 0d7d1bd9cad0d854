package gossip

import "ulnet/gossip/engine"

// Error is an error of a configuration, a list or a change of the list. If one of [Agent.Commit] has NIDs,
// these are the live participants that have not staged the list, as far as this node knows.
type Error = engine.Error

// ErrClosed is why an [Agent] refuses a change of the list after [Agent.Close]. It is an *[Error].
var ErrClosed error = &Error{Why: "the agent was closed"}

// Health is whether this node considers a participant alive.
type Health = engine.Health

// The values of Health. A participant that was never heard of is Unknown, which counts as dead.
const (
	Unknown = engine.Unknown
	Alive   = engine.Alive
	Dead    = engine.Dead
)

// Participant is the state of a participant: NID, age, health and how often it has died.
type Participant = engine.Participant

// Explanation is why a participant is thought to be alive or dead.
type Explanation = engine.Explanation

// RollStatus is how far a change of the list of participants is.
type RollStatus = engine.RollStatus

// EventKind tells events apart.
type EventKind = engine.EventKind

// The kinds of events. Died, CameAlive, Disagreed, NotSigned and ClockRefused are about a
// participant, the others about this node.
const (
	Died         = engine.Died // the participant was alive and is not any more
	CameAlive    = engine.CameAlive
	QuorumWon    = engine.QuorumWon
	QuorumLost   = engine.QuorumLost
	Disagreed    = engine.Disagreed    // sets NID: a participant with other parameters than this node; reported once for each
	Stopped      = engine.Stopped      // this node has stopped, because its parameters are wrong
	Left         = engine.Left         // this node has stopped, because the new list is without it
	SpeaksUp     = engine.SpeaksUp     // the silence after the start has ended
	Paused       = engine.Paused       // this node was paused
	Resynced     = engine.Resynced     // this node reports health events again
	Realigned    = engine.Realigned    // this node's clock was out of step with all others, and has been set
	NotSigned    = engine.NotSigned    // sets NID: a node whose messages are not signed with this node's keys; reported once for each
	ClockRefused = engine.ClockRefused // a participant's clock is impossible
)
