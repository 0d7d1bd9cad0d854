package portals

import (
	"ulnet/lnd"
	"ulnet/lnet/nid"
)

// ErrLate is the error of the SEND event of a PUT that has waited longer than PutRequest.LeaveWithin. It comes when the
// PUT could be sent again, so it is no failure of the peer.
var ErrLate = lnd.ErrLate

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
