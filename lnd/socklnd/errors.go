package socklnd

import (
	"fmt"
	"syscall"

	"ulnet/lnet/nid"
)

// Error says why a connection ended, or why a message did not leave. It
// unwraps to its Errno, which is the status that LNet reports, and to Err.
type Error struct {
	Reason Reason
	Peer   nid.ProcessID // zero while unknown
	Errno  syscall.Errno
	Err    error // what the system said, nil if nothing
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("socklnd: %v: %v: %v", e.Peer, e.Reason, e.Errno)
	}
	return fmt.Sprintf("socklnd: %v: %v: %v", e.Peer, e.Reason, e.Err)
}

// Unwrap returns the errors that e stands for.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Errno}
	}
	return []error{e.Errno, e.Err}
}

// errnos are the statuses of reasons that end messages; all others are EIO.
var errnos = map[Reason]syscall.Errno{
	ConnectFailed: syscall.EHOSTUNREACH, ConnectTimeout: syscall.EHOSTUNREACH,
	NoReservedPort: syscall.EHOSTUNREACH,
	DialHelloCut:   syscall.EHOSTUNREACH, DialHelloBad: syscall.EPROTO,
	DialHelloPeer: syscall.EPROTO, DialHelloType: syscall.EPROTO,
	DialRefused: syscall.EHOSTUNREACH, DialOtherVersion: syscall.EPROTO,
	TooSoon: syscall.EHOSTUNREACH, NoRoute: syscall.EHOSTUNREACH,
	ReceiveTimeout: syscall.ETIMEDOUT, SendTimeout: syscall.ETIMEDOUT,
	BadMessageType: syscall.EPROTO, BadChecksum: syscall.EPROTO,
	BadAck: syscall.EPROTO, TooManyAcks: syscall.EPROTO, BadMessage: syscall.EPROTO,
	BadHeader: syscall.EINVAL, ShuttingDown: syscall.ESHUTDOWN,
}

func newError(r Reason, peer nid.ProcessID, err error) *Error {
	errno, ok := errnos[r]
	if !ok {
		errno = syscall.EIO
	}
	return &Error{Reason: r, Peer: peer, Errno: errno, Err: err}
}
