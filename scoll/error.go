package scoll

import (
	"fmt"
	"strings"

	"ulnet/lnet/nid"
)

// Error says what cannot be done, and what to do. What has no more to say than a [Status] is
// one of these.
type Error struct {
	Why       string
	Status    Status      // OK: none
	Dead      []nid.NID   // members that keep a broadcast from being sent
	Unreached []Unreached // members that do not know a group
	Result    *Result     // of a call, some of whose members did not do what they were asked for
}

// Why something cannot be done whatever the arguments are: each is an *[Error].
var (
	// errNoNID says that a node has no NID to take part as.
	errNoNID error = &Error{Why: "say which NID of this node takes part"}
	// ErrStopped says that the agent was closed before an answer was there.
	ErrStopped error = &Error{Why: "the agent has stopped"}
)

// Error implements error.
func (e *Error) Error() string { return "scoll: " + e.Why }

// Unwrap returns the status, and of Result those that failed, each a [Failure], and those that
// were not reached, each a [Lost].
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

// incomplete is the error of a result; its text names the first three members.
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
