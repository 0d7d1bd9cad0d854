package socklnd

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
)

// Error says why a connection ended, or why a message did not leave. It
// unwraps to its Errno, which is the status that LNet reports, and to Err.
type Error struct {
	Reason Reason        // reason of the failure, which also has a counter
	Peer   nid.ProcessID // the peer; zero while unknown
	Errno  syscall.Errno // error number that LNet reports
	Err    error         // error of the operating system; nil if there is none
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("socklnd: %v: %v: %v", e.Peer, e.Reason, e.Errno)
	}
	return fmt.Sprintf("socklnd: %v: %v: %v", e.Peer, e.Reason, e.Err)
}

// Unwrap returns Errno and Err, for errors.Is.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Errno}
	}
	return []error{e.Errno, e.Err}
}

// errnos has the errnos of reasons that end messages; all other reasons have EIO.
var errnos = map[Reason]syscall.Errno{
	ConnectFailed: syscall.EHOSTUNREACH, ConnectTimeout: syscall.EHOSTUNREACH,
	NoReservedPort: syscall.EACCES, NoFreePort: syscall.EADDRINUSE,
	DialHelloCut: syscall.EHOSTUNREACH, DialHelloBad: syscall.EPROTO,
	DialHelloPeer: syscall.EPROTO, DialHelloType: syscall.EPROTO,
	DialRefused: syscall.EHOSTUNREACH, DialOtherVersion: syscall.EPROTO,
	TooSoon: syscall.EHOSTUNREACH, NoRoute: syscall.EHOSTUNREACH,
	ReceiveTimeout: syscall.ETIMEDOUT, SendTimeout: syscall.ETIMEDOUT,
	BadMessageType: syscall.EPROTO,
	BadAck:         syscall.EPROTO, TooManyAcks: syscall.EPROTO, BadMessage: syscall.EPROTO,
	BadHeader: syscall.EINVAL, ShuttingDown: syscall.ESHUTDOWN,
	DatagramTooLong: syscall.EMSGSIZE,
}

// errUserFlagged means that a peer is named by its socket (LNET_PID_USERFLAG) and has no
// connection.
var errUserFlagged = errors.New("it came from an unprivileged port, where nothing listens: only its own connections reach it")

// backOffError says why a peer is not dialled at the moment. It unwraps to the
// error of the last dial.
type backOffError struct {
	wait time.Duration // time until the next dial is allowed
	last error
}

func (e *backOffError) Error() string {
	return fmt.Sprintf("not tried again for %.1f s after: %v", e.wait.Seconds(), brief(e.last))
}

func (e *backOffError) Unwrap() error { return e.last }

// brief returns the text of err without the peer, which the surrounding Error names already.
func brief(err error) string {
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok:
		return err.Error()
	case e.Err == nil:
		return e.Reason.String()
	case e.Reason == ConnectFailed: // the text of the system's error is enough
		return e.Err.Error()
	}
	return fmt.Sprintf("%v: %v", e.Reason, e.Err)
}

// failures has the failure classes of the reasons whose class does not depend on the system's
// error (lnet-semantics §15). An error of the peer, on an established connection or in its answer to
// a HELLO, blames the peer; LNet has LOCAL_ERROR there, by which a peer could lower the health of this
// node's NI.
var failures = map[Reason]lnd.Failure{
	ShuttingDown: lnd.FailureNone, BadHeader: lnd.FailureNone, DatagramTooLong: lnd.FailureNone, DatagramFailed: lnd.FailureNone,
	ConnectTimeout: lnd.NetworkTimeout, SendTimeout: lnd.RemoteTimeout,
	DialHelloBad: lnd.RemoteError, DialHelloPeer: lnd.RemoteError, DialHelloType: lnd.RemoteError, DialOtherVersion: lnd.RemoteError,
	TooSoon: lnd.RemoteError, NoRoute: lnd.RemoteError,
	ReceiveTimeout: lnd.RemoteError, CutMessage: lnd.RemoteError, PeerClosed: lnd.RemoteError,
	PeerRestarted: lnd.RemoteError, ProtocolChanged: lnd.RemoteError,
	BadMessageType: lnd.RemoteError, BadChecksum: lnd.RemoteError, BadAck: lnd.RemoteError,
	TooManyAcks: lnd.RemoteError, BadMessage: lnd.RemoteError,
}

// classOf has the failure class of each error with which the system ends a connection, or an
// attempt to connect (ksocknal_txlist_done, ksocknal_tx_done). The first entry that matches the
// error counts.
var classOf = [...]struct {
	errno syscall.Errno
	class lnd.Failure
}{
	{syscall.ENETDOWN, lnd.RemoteDropped},
	{syscall.ENETUNREACH, lnd.RemoteDropped},
	{syscall.ECONNREFUSED, lnd.RemoteDropped},
	{syscall.ECONNRESET, lnd.RemoteDropped},
	{syscall.EPIPE, lnd.RemoteError},
	{syscall.EHOSTUNREACH, lnd.RemoteDropped},
}

// isOwn reports whether a connection was not made, or is not tried, because the NI's address is gone from this host: then
// no connection of this NI works. If the host lacks a file descriptor, memory, a port or a permission, isOwn is false: that
// prevents only this new connection, and messages to the same peer can use an existing one to another of its NIDs.
func (e *Error) isOwn() bool {
	switch e.Reason {
	case ConnectFailed:
		return isBindError(e.Err, syscall.EADDRNOTAVAIL)
	case TooSoon:
		last, ok := errors.AsType[*Error](e.Err)
		return ok && last.isOwn()
	}
	return false
}

// Failure is the class of the failure, see [lnd.Failure]. If the address of the NI is gone, the message may be sent again
// by another NI; while the peer is not dialled because of that, it is a local error.
func (e *Error) Failure() lnd.Failure {
	if e.isOwn() {
		if e.Reason == TooSoon {
			return lnd.LocalError
		}
		return lnd.LocalDropped
	}
	if class, ok := failures[e.Reason]; ok {
		return class
	}
	if errors.Is(e.Err, syscall.ETIMEDOUT) { // the system has stopped retransmitting
		if e.Reason == ConnectFailed {
			return lnd.NetworkTimeout
		}
		return lnd.RemoteTimeout
	}
	for _, c := range classOf {
		if errors.Is(e, c.errno) {
			return c.class
		}
	}
	return lnd.LocalError
}

func newError(r Reason, peer nid.ProcessID, err error) *Error {
	errno, ok := errnos[r]
	if !ok {
		errno = syscall.EIO
	}
	return &Error{Reason: r, Peer: peer, Errno: errno, Err: err}
}
