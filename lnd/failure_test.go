package lnd_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
)

// TestFailure (HV-1): each class of failure has Lustre's number and name, and is found in an error that
// wraps it.
func TestFailure(t *testing.T) {
	spec.Covers(t, "HV-1")
	numbers := map[lnd.Failure]string{
		1: "local_interrupt", 2: "local_dropped", 3: "local_aborted", 4: "local_no_route", 5: "local_error",
		6: "local_timeout", 7: "remote_error", 8: "remote_dropped", 9: "remote_timeout", 10: "network_timeout",
	}
	if len(numbers) != int(lnd.NumFailures)-1 {
		t.Errorf("%d classes, want %d", lnd.NumFailures-1, len(numbers))
	}
	for f, want := range numbers {
		if f.String() != want {
			t.Errorf("class %d is %v, want %v", uint8(f), f, want)
		}
		err := fmt.Errorf("send: %w", lnd.Failed(f, syscall.ECONNRESET))
		if lnd.FailureOf(err) != f || !errors.Is(err, syscall.ECONNRESET) || err.Error() != "send: connection reset by peer" {
			t.Errorf("%v: class %v", err, lnd.FailureOf(err))
		}
	}
	for _, err := range []error{nil, syscall.EIO} {
		if f := lnd.FailureOf(err); f != lnd.FailureNone {
			t.Errorf("%v has class %v", err, f)
		}
	}
}
