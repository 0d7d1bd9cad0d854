package scoll

import (
	"fmt"
	"strings"

	"ulnet/lnet/nid"
)

// Error is an error with details. Errors without details are plain [Status] values.
type Error struct {
	Why       string      // what failed, and what the caller can do about it
	Status    Status      // status that describes the error; OK: there is none
	Dead      []nid.NID   // dead members that keep a broadcast from being sent
	Unreached []Unreached // members that could not be told about a group
	Result    *Result     // result of a call that did not succeed at all members
}

// Errors that do not depend on the arguments: each is an *[Error].
var (
	// errNoNID says that a node has no NID, or several, and Config.Self does not select one.
	errNoNID = &Error{Why: "say which NID of this node takes part"}
	// ErrStopped says that the agent was closed before there was an answer.
	ErrStopped error = &Error{Why: "the agent has stopped"}
)

// Error implements error.
func (e *Error) Error() string { return "scoll: " + e.Why }

// Unwrap returns the status, a [Failure] for each member of Result that failed, and a [Lost]
// for each that was not reached.
func (e *Error) Unwrap() (list []error) {
	if e.Status != OK {
		list = append(list, e.Status)
	}
	if e.Result != nil {
		list = append(list, e.Result.errors()...)
	}
	return list
}

func wrong(s Status, format string, args ...any) *Error {
	return &Error{Why: fmt.Sprintf(format, args...), Status: s}
}

// incomplete returns the error for a result; its text names the first three members.
func incomplete(r *Result) *Error {
	var b strings.Builder
	switch failed, lost := len(r.Failed), len(r.Unreached); {
	case lost == 0:
		fmt.Fprintf(&b, "%d of %d failed", failed, r.Asked)
	case failed == 0:
		fmt.Fprintf(&b, "%d of %d were not reached", lost, r.Asked)
	default:
		fmt.Fprintf(&b, "%d of %d failed, %d were not reached", failed, r.Asked, lost)
	}
	all := r.errors()
	before := ":"
	for _, err := range all[:min(len(all), 3)] {
		fmt.Fprintf(&b, "%s %v", before, err)
		before = ";"
	}
	if len(all) > 3 {
		fmt.Fprintf(&b, "; and %d more", len(all)-3)
	}
	return &Error{Why: b.String(), Result: r}
}
