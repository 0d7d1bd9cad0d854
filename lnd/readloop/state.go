package readloop

import "time"

// State says which goroutine runs the loop.
type State uint8

// States of a loop.
const (
	Own   State = iota // the connection's own goroutine runs the loop
	Idle               // no goroutine runs the loop: the follower has it and is not in Receive
	Taken              // the follower runs the loop, in Receive
)

// Snapshot is the state of a Loop at one moment.
type Snapshot struct {
	State     State // which goroutine runs the loop
	Requested bool  // a follower has requested the loop, with no answer yet
	Blocked   bool  // the follower waits for bytes
	Delays    int   // hand-overs that have delayed a message; provenUses calls of Receive in a row, none of them late, subtract one
	HandOvers int   // hand-overs so far
	Refused   int   // requests that were refused so far
	TakenBack int   // hand-overs so far that the watchdog has ended
}

// Snapshot returns the loop's present state.
func (l *Loop) Snapshot() Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Snapshot{
		State: l.state, Requested: l.requested.Load(), Blocked: l.blocked, Delays: l.delays,
		HandOvers: l.handOvers, Refused: l.refused, TakenBack: l.takenBack,
	}
}

// SetMaxAbsence changes MaxAbsence for l. It is for tests of drivers, whose goroutines
// may be kept from running for longer.
func (l *Loop) SetMaxAbsence(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.maxAbsence = d
}

// ForgetHistory forgets delays and refusals: the next request is granted.
// It is for tests of drivers.
func (l *Loop) ForgetHistory() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delays, l.refuse = 0, 0
}
