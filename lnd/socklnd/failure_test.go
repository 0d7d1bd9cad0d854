package socklnd_test

import (
	"io"
	"os"
	"slices"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/socklnd"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
)

// TestFailureClasses (HV-2): each reason, together with the system's error, has the right failure
// class.
func TestFailureClasses(t *testing.T) {
	spec.Covers(t, "HV-2")
	failed := func(why socklnd.Reason, err error) error { return socklnd.NewError(why, nid.ProcessID{}, err) }
	for name, c := range map[string]struct {
		why  socklnd.Reason
		err  error
		want lnd.Failure
	}{
		"no connection in time":                 {socklnd.ConnectTimeout, syscall.ETIMEDOUT, lnd.NetworkTimeout},
		"the system's connect times out":        {socklnd.ConnectFailed, syscall.ETIMEDOUT, lnd.NetworkTimeout},
		"interface down":                        {socklnd.ConnectFailed, syscall.ENETDOWN, lnd.RemoteDropped},
		"host unreachable":                      {socklnd.ConnectFailed, syscall.EHOSTUNREACH, lnd.RemoteDropped},
		"net unreachable":                       {socklnd.ConnectFailed, syscall.ENETUNREACH, lnd.RemoteDropped},
		"nobody listens":                        {socklnd.ConnectFailed, syscall.ECONNREFUSED, lnd.RemoteDropped},
		"no file descriptor":                    {socklnd.ConnectFailed, os.NewSyscallError("socket", syscall.EMFILE), lnd.RemoteDropped},
		"no memory":                             {socklnd.ConnectFailed, os.NewSyscallError("connect", syscall.ENOBUFS), lnd.RemoteDropped},
		"the address of the NI is gone":         {socklnd.ConnectFailed, os.NewSyscallError("bind", syscall.EADDRNOTAVAIL), lnd.LocalDropped},
		"no port of the NI is left":             {socklnd.ConnectFailed, os.NewSyscallError("bind", syscall.EADDRINUSE), lnd.RemoteDropped},
		"no port for this peer is left":         {socklnd.ConnectFailed, os.NewSyscallError("connect", syscall.EADDRNOTAVAIL), lnd.RemoteDropped},
		"the route is a black hole":             {socklnd.ConnectFailed, os.NewSyscallError("connect", syscall.EINVAL), lnd.RemoteDropped},
		"a filter forbids the way":              {socklnd.ConnectFailed, os.NewSyscallError("connect", syscall.EPERM), lnd.RemoteDropped},
		"a router forbids the way (IPv6)":       {socklnd.ConnectFailed, syscall.EACCES, lnd.RemoteDropped},
		"not dialled after the NI's failure":    {socklnd.TooSoon, failed(socklnd.ConnectFailed, os.NewSyscallError("bind", syscall.EADDRNOTAVAIL)), lnd.LocalError},
		"not dialled without a descriptor":      {socklnd.TooSoon, failed(socklnd.ConnectFailed, os.NewSyscallError("socket", syscall.EMFILE)), lnd.RemoteError},
		"not dialled without a port":            {socklnd.TooSoon, failed(socklnd.NoFreePort, syscall.EADDRINUSE), lnd.RemoteError},
		"not dialled without permission":        {socklnd.TooSoon, failed(socklnd.NoReservedPort, syscall.EACCES), lnd.RemoteError},
		"not dialled after the peer's failure":  {socklnd.TooSoon, failed(socklnd.ConnectFailed, syscall.ECONNREFUSED), lnd.RemoteError},
		"closed instead of a HELLO":             {socklnd.DialHelloCut, io.EOF, lnd.RemoteDropped},
		"no HELLO, or a bad one":                {socklnd.DialHelloBad, ksock.ErrMagic, lnd.RemoteError},
		"another node answers":                  {socklnd.DialHelloPeer, nil, lnd.RemoteError},
		"another type than was dialled":         {socklnd.DialHelloType, nil, lnd.RemoteError},
		"refused in another version":            {socklnd.DialOtherVersion, nil, lnd.RemoteError},
		"refused":                               {socklnd.DialRefused, nil, lnd.RemoteDropped},
		"reset while it reads":                  {socklnd.ReadFailed, syscall.ECONNRESET, lnd.RemoteDropped},
		"reset while it writes":                 {socklnd.WriteFailed, syscall.ECONNRESET, lnd.RemoteDropped},
		"the peer had closed":                   {socklnd.WriteFailed, syscall.EPIPE, lnd.RemoteError},
		"other error of writing":                {socklnd.WriteFailed, syscall.ENOBUFS, lnd.LocalError},
		"retransmissions are used up":           {socklnd.WriteFailed, syscall.ETIMEDOUT, lnd.RemoteTimeout},
		"no port to dial from":                  {socklnd.NoFreePort, nil, lnd.LocalError},
		"no permission for a port":              {socklnd.NoReservedPort, nil, lnd.LocalError},
		"the peer takes nothing":                {socklnd.SendTimeout, nil, lnd.RemoteTimeout},
		"not dialled again yet":                 {socklnd.TooSoon, syscall.ECONNREFUSED, lnd.RemoteError},
		"cannot be dialled":                     {socklnd.NoRoute, nil, lnd.RemoteError},
		"a message stops half-way":              {socklnd.ReceiveTimeout, nil, lnd.RemoteError},
		"a message ends half-way":               {socklnd.CutMessage, io.ErrUnexpectedEOF, lnd.RemoteError},
		"the peer breaks the protocol":          {socklnd.BadAck, nil, lnd.RemoteError},
		"the peer closes":                       {socklnd.PeerClosed, nil, lnd.RemoteError},
		"the NI ends":                           {socklnd.ShuttingDown, nil, lnd.FailureNone},
		"a message that has no form to go by":   {socklnd.BadHeader, syscall.EINVAL, lnd.FailureNone},
		"a datagram that is longer than it may": {socklnd.DatagramTooLong, nil, lnd.FailureNone},
	} {
		e := socklnd.NewError(c.why, nid.ProcessID{}, c.err)
		if got := lnd.FailureOf(e); got != c.want {
			t.Errorf("%s (%v): %v, want %v", name, e, got, c.want)
		}
	}
}

// TestAnswersBlameThePeer (HV-2): whatever a peer answers to the HELLO of a dial, this node's NI is not to blame. Otherwise
// anything that listens at the peer's address could lower the NI's health.
func TestAnswersBlameThePeer(t *testing.T) {
	spec.Covers(t, "HV-2")
	remote := []lnd.Failure{lnd.RemoteError, lnd.RemoteDropped, lnd.RemoteTimeout}
	for why := socklnd.DialHelloCut; why <= socklnd.DialOtherVersion; why++ {
		for _, err := range []error{nil, ksock.ErrMagic, io.EOF} {
			if got := lnd.FailureOf(socklnd.NewError(why, nid.ProcessID{}, err)); !slices.Contains(remote, got) {
				t.Errorf("%v (%v): %v", why, err, got)
			}
		}
	}
}
