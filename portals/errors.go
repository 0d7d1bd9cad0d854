package portals

import (
	"ulnet/lnet/nid"
)

// OpError is the error of a call of this package: the operation, the peer if there is
// one, and the errno.
type OpError struct {
	Op  string  // name of the operation: "Put", "MDAttach", …
	NID nid.NID // NID of the peer; zero if there is none
	Err error   // cause, which is a syscall.Errno
}

func (e *OpError) Error() string {
	if e.NID.IsValid() {
		return e.Op + " to " + e.NID.String() + ": " + e.Err.Error()
	}
	return e.Op + ": " + e.Err.Error()
}

// Unwrap returns the error number in Err.
func (e *OpError) Unwrap() error { return e.Err }

func opError(op string, err error) error {
	if err == nil {
		return nil
	}
	return &OpError{Op: op, Err: err}
}
