package socklnd

import (
	"io"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestFailureClasses shows row HV-2 of the conformance table.
func TestFailureClasses(t *testing.T) {
	spec.Covers(t, "HV-2")
	for name, c := range map[string]struct {
		why  Reason
		err  error
		want lnd.Failure
	}{
		"no connection in time":                 {ConnectTimeout, syscall.ETIMEDOUT, lnd.NetworkTimeout},
		"the system's connect times out":        {ConnectFailed, syscall.ETIMEDOUT, lnd.NetworkTimeout},
		"interface down":                        {ConnectFailed, syscall.ENETDOWN, lnd.RemoteDropped},
		"host unreachable":                      {ConnectFailed, syscall.EHOSTUNREACH, lnd.RemoteDropped},
		"net unreachable":                       {ConnectFailed, syscall.ENETUNREACH, lnd.RemoteDropped},
		"nobody listens":                        {ConnectFailed, syscall.ECONNREFUSED, lnd.RemoteDropped},
		"closed instead of a HELLO":             {DialHelloCut, io.EOF, lnd.RemoteDropped},
		"reset while it reads":                  {ReadFailed, syscall.ECONNRESET, lnd.RemoteDropped},
		"reset while it writes":                 {WriteFailed, syscall.ECONNRESET, lnd.RemoteDropped},
		"the peer had closed":                   {WriteFailed, syscall.EPIPE, lnd.RemoteError},
		"other error of writing":                {WriteFailed, syscall.ENOBUFS, lnd.LocalError},
		"retransmissions are used up":           {WriteFailed, syscall.ETIMEDOUT, lnd.RemoteTimeout},
		"no port to dial from":                  {NoFreePort, nil, lnd.LocalError},
		"no permission for a port":              {NoReservedPort, nil, lnd.LocalError},
		"the peer takes nothing":                {SendTimeout, nil, lnd.RemoteTimeout},
		"not dialled again yet":                 {TooSoon, syscall.ECONNREFUSED, lnd.RemoteError},
		"cannot be dialled":                     {NoRoute, errUserFlagged, lnd.RemoteError},
		"a message stops half-way":              {ReceiveTimeout, nil, lnd.RemoteError},
		"a message ends half-way":               {CutMessage, io.ErrUnexpectedEOF, lnd.RemoteError},
		"the peer breaks the protocol":          {BadAck, nil, lnd.RemoteError},
		"the peer closes":                       {PeerClosed, nil, lnd.RemoteError},
		"the NI ends":                           {ShuttingDown, nil, lnd.FailureNone},
		"a message that has no form to go by":   {BadHeader, syscall.EINVAL, lnd.FailureNone},
		"a datagram that is longer than it may": {DatagramTooLong, nil, lnd.FailureNone},
	} {
		e := newError(c.why, nid.ProcessID{}, c.err)
		if got := lnd.FailureOf(e); got != c.want {
			t.Errorf("%s (%v): %v, want %v", name, e, got, c.want)
		}
	}
}
