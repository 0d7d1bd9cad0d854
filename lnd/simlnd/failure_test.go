package simlnd

import (
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
)

// TestFailureClasses shows row HV-2 for the simulated network.
func TestFailureClasses(t *testing.T) {
	spec.Covers(t, "HV-2")
	for _, c := range []struct {
		cause syscall.Errno
		state connState
		want  lnd.Failure
	}{
		{syscall.ESHUTDOWN, open, lnd.FailureNone},
		{syscall.EPROTO, open, lnd.RemoteError},
		{syscall.ECONNREFUSED, opening, lnd.RemoteDropped},
		{syscall.ECONNRESET, open, lnd.RemoteDropped},
		{syscall.ETIMEDOUT, opening, lnd.NetworkTimeout},
		{syscall.ETIMEDOUT, open, lnd.RemoteTimeout},
	} {
		if got := failureOf(c.cause, c.state); got != c.want {
			t.Errorf("%v in state %d: %v, want %v", c.cause, c.state, got, c.want)
		}
	}
}
