package lnd

import (
	"errors"
	"fmt"
)

// Failure is the class of a failure (enum lnet_msg_hstatus): what it proves about the
// NIs at both ends. lnet lowers the health of the NI that a class blames, and sends the
// message again by another path if the class allows it.
//
//	class                                          blames        sent again
//	LocalInterrupt, LocalDropped, LocalAborted,
//	LocalNoRoute, LocalTimeout                     the local NI  yes
//	LocalError                                     the local NI  no
//	RemoteError, RemoteTimeout                     the peer NI   no
//	RemoteDropped                                  the peer NI   yes
//	NetworkTimeout                                 both          no
//
// A driver gives a class that allows another try in two cases only: the message has not left,
// or the connection that may have carried it was reset. In the second case the peer may get the
// message twice.
type Failure uint8

// The classes, with Lustre's numbers: a fault rule has the bit 1 << class.
const (
	FailureNone    Failure = iota // proves nothing: no NI is blamed, and the message is not sent again
	LocalInterrupt                // the device was interrupted
	LocalDropped                  // the message did not leave this NI
	LocalAborted                  // the device gave the message up
	LocalNoRoute                  // this NI has no path to the peer
	LocalError                    // this NI cannot send the message
	LocalTimeout                  // the message did not leave this NI before its time-out
	RemoteError                   // the peer cannot take the message, broke the protocol, or broke off a message that it was sending
	RemoteDropped                 // the peer refused or reset the connection
	RemoteTimeout                 // the peer took no bytes for too long
	NetworkTimeout                // no connection was made, or no answer came, before the time-out
	NumFailures                   // number of failures above
)

var failureNames = [NumFailures]string{
	"none", "local_interrupt", "local_dropped", "local_aborted", "local_no_route", "local_error",
	"local_timeout", "remote_error", "remote_dropped", "remote_timeout", "network_timeout",
}

// String returns the name that lnetctl has for the class.
func (f Failure) String() string {
	if f < NumFailures {
		return failureNames[f]
	}
	return fmt.Sprintf("failure %d", uint8(f))
}

// FailureOf returns the class that an error or one that it wraps carries: the first with
// a method Failure() Failure.
func FailureOf(err error) Failure {
	var f interface{ Failure() Failure }
	if errors.As(err, &f) {
		return f.Failure()
	}
	return FailureNone
}

// Failed returns err with a class. Its text and what it wraps stay the same.
func Failed(class Failure, err error) error { return &failed{class, err} }

type failed struct {
	class Failure
	err   error
}

func (f *failed) Error() string    { return f.err.Error() }
func (f *failed) Unwrap() error    { return f.err }
func (f *failed) Failure() Failure { return f.class }
