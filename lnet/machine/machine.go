// Package machine holds the contract of ulnet's protocol engines.
//
// An engine is a value with one method, Step. It reads no clock, starts no goroutine, takes no
// lock, logs nothing and does no I/O: the shell that steps it does all of that. The same engine
// therefore runs in the daemon, in a test under a fake clock and in a simulation of many nodes.
//
// Rules of the contract:
//
//   - now never decreases between calls and counts from an instant the shell
//     chose; engines compare instants, they do not interpret them.
//   - in is valid during Step only; the zero In means "your timer is due".
//   - out belongs to the caller, which empties it between calls; Step appends. An
//     Out with a method Reset is emptied by that and may keep its memory.
//   - the content of a send is appended to a buffer of out, and the send holds its
//     position there, because appending may move the buffer. After Step all of out
//     is the caller's: an engine keeps nothing that refers to it.
//   - the returned wake is later than now, or [Never]; it replaces the wake
//     that the previous call returned.
//   - one goroutine steps a machine; a machine is not safe for concurrent use.
//
// [Runner] is the shell for real clocks. Package record writes the inputs and outputs of a
// machine to a file, and can step a machine with the same inputs again. Both depend on the
// standard library alone.
package machine

import (
	"math"
	"time"
)

// Never is the wake of a machine that waits for nothing but input.
const Never = time.Duration(math.MaxInt64)

// Machine is the state machine of a protocol.
type Machine[In, Out any] interface {
	// Step applies an input to the machine. now is the time of the input. Step appends the effects to out and
	// returns wake, the time at which the caller must step the machine again with a zero In, or Never.
	Step(now time.Duration, in In, out *Out) (wake time.Duration)
}

// Reset empties out for the next step.
func Reset[Out any](out *Out) {
	if r, ok := any(out).(interface{ Reset() }); ok {
		r.Reset()
	} else {
		*out = *new(Out)
	}
}
