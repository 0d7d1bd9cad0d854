package lnet

import (
	"errors"
	"fmt"
	"syscall"

	"ulnet/lnet/nid"
)

// startError says why an NI did not start. If err has no errno, it unwraps to ENETDOWN as
// well: LNet's drivers report that for an interface that they cannot use, whatever the
// reason.
type startError struct {
	net nid.Net
	err error
}

func (e *startError) Error() string { return fmt.Sprintf("start NI on %v: %v", e.net, e.err) }

// Unwrap returns the errors that e is made of.
func (e *startError) Unwrap() []error {
	if _, ok := errors.AsType[syscall.Errno](e.err); ok {
		return []error{e.err}
	}
	return []error{e.err, syscall.ENETDOWN}
}
