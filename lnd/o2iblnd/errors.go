package o2iblnd

import (
	"fmt"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnet/nid"
)

// Error says why a connection ended, or why a message did not leave. It
// unwraps to its Errno, which is the status that LNet reports, and to Err.
type Error struct {
	Reason Reason        // reason of the failure, which also has a counter
	Peer   nid.ProcessID // the peer; zero while unknown
	Errno  syscall.Errno // error number that LNet reports
	Err    error         // error of the device; nil if there is none

	bulk bool // a transfer by RDMA failed
}

func (e *Error) Error() string {
	text := fmt.Sprintf("o2iblnd: %v: %v", e.Peer, e.Reason)
	if e.Err == nil {
		text += ": " + e.Errno.Error()
	} else {
		text += ": " + e.Err.Error()
	}
	if advice := e.advice(); advice != "" {
		text += " (" + advice + ")"
	}
	return text
}

// advice says what to do about the error.
func (e *Error) advice() string {
	text := advices[e.Reason]
	if e.bulk {
		text += "; if small messages pass and large ones fail, compare the MTUs of both nodes and of the network between them"
	}
	return text
}

// Unwrap returns Errno and Err, for errors.Is.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Errno}
	}
	return []error{e.Errno, e.Err}
}

// errnos has the errnos of reasons that end messages (o2iblnd-wire §7.2, §10); all other reasons
// have EIO.
var errnos = map[Reason]syscall.Errno{
	ShuttingDown: syscall.ESHUTDOWN, ConnectFailed: syscall.EHOSTUNREACH, Unreachable: syscall.ENETDOWN,
	NoListener: syscall.EHOSTUNREACH, RejectedRace: syscall.ECONNREFUSED, RejectedStale: syscall.ECONNREFUSED,
	RejectedDepth: syscall.ECONNREFUSED, RejectedFrags: syscall.ECONNREFUSED, RejectedMTU: syscall.ECONNREFUSED,
	RejectedVersion: syscall.EPROTONOSUPPORT, RejectedEarly: syscall.ECONNREFUSED,
	RejectedLimit: syscall.ECONNREFUSED, Rejected: syscall.ECONNREFUSED,
	AckBad: syscall.EPROTO, AckParams: syscall.EPROTO, AckPeer: syscall.ESTALE, QueueTimeout: syscall.ETIMEDOUT,
	PeerClosed: syscall.ECONNABORTED, TransportFailed: syscall.ECONNABORTED, NotPosted: syscall.ENOMEM,
	BadMessage: syscall.EPROTO, BadChecksum: syscall.EIO, StaleMessage: syscall.ESTALE,
	CreditsReturned: syscall.EPROTO, CreditsOverdrawn: syscall.EPROTO, UnexpectedType: syscall.EPROTO,
	UnknownCookie: syscall.EPROTO, BadStatus: syscall.EPROTO, BadDescriptor: syscall.EPROTO,
	Refused: syscall.EPROTO, SendTimeout: syscall.ETIMEDOUT, CreditTimeout: syscall.ETIMEDOUT,
	PeerRestarted: syscall.ESTALE, NoMemory: syscall.ENOMEM,
	NoTx: syscall.ENOMEM, TooManyFrags: syscall.EMSGSIZE, BadHeader: syscall.EINVAL,
	DatagramTooLong: syscall.EMSGSIZE,
}

// advices say what to do about a reason.
var advices = map[Reason]string{
	UnprivilegedPort: "the peer needs use_privileged_port=1",
	RefusedLimit:     "raise max_conns, unless this peer has 508 connections: then lower its conns_per_peer",
	Unreachable:      "is the node up, and does UDP port 4791 get through?",
	NoListener:       "is LNet started there, and service the same on both sides?",
	RejectedMTU:      "the peer's interface has a smaller MTU, and this device cannot send shorter packets: make the MTUs of both interfaces equal",
	RejectedVersion:  "version 1 is not spoken: the peer needs Lustre 2.4 or later",
	RejectedLimit:    "see the peer's log",
	Rejected:         "the peer's log says why; often it has no NI on this net",
	TransportFailed:  "is the node up, and does UDP port 4791 get through?",
	NoTx:             "raise ntx",
	NoMemory:         "see the limit of locked memory",
	NotPosted:        "see the limit of locked memory",
	TooManyFrags:     "use fewer and larger segments",
	DatagramTooLong:  "see the MTU of the interface",
	CreditTimeout:    "the peer does not read its messages",
	NotWritten:       "ask kernels for exactly as much as there is, or for up to 3976 bytes",
	SendTimeout:      "is the peer overloaded? see timeout",
}

// failures has the failure classes of the reasons that end messages; all other reasons have
// RemoteError. docs/o2ib.md says what each class proves.
var failures = map[Reason]lnd.Failure{
	ShuttingDown: lnd.FailureNone, BadHeader: lnd.FailureNone, TooManyFrags: lnd.FailureNone,
	DatagramTooLong: lnd.FailureNone, DatagramFailed: lnd.FailureNone, NoReply: lnd.FailureNone,

	ConnectFailed: lnd.LocalDropped, AcceptFailed: lnd.LocalDropped, NotPosted: lnd.LocalDropped,
	NoTx: lnd.LocalError, NoMemory: lnd.LocalError,

	Unreachable: lnd.RemoteDropped, NoListener: lnd.RemoteDropped,
	RejectedRace: lnd.RemoteDropped, RejectedStale: lnd.RemoteDropped, RejectedDepth: lnd.RemoteDropped,
	RejectedFrags: lnd.RemoteDropped, RejectedMTU: lnd.RemoteDropped, RejectedVersion: lnd.RemoteDropped,
	RejectedEarly: lnd.RemoteDropped, RejectedLimit: lnd.RemoteDropped, Rejected: lnd.RemoteDropped,
	PeerClosed: lnd.RemoteDropped, TransportFailed: lnd.RemoteDropped,

	SendTimeout: lnd.RemoteTimeout, CreditTimeout: lnd.RemoteTimeout,
	QueueTimeout: lnd.NetworkTimeout,
}

// Failure is the class of the failure, see [lnd.Failure].
func (e *Error) Failure() lnd.Failure {
	if class, ok := failures[e.Reason]; ok {
		return class
	}
	return lnd.RemoteError
}

func newError(r Reason, peer nid.ProcessID, err error) *Error {
	errno, ok := errnos[r]
	if !ok {
		errno = syscall.EIO
	}
	return &Error{Reason: r, Peer: peer, Errno: errno, Err: err}
}
