package portals_test

import (
	"fmt"
	"syscall"
	"testing"

	"ulnet/portals"
)

func TestLocalFault(t *testing.T) {
	for err, want := range map[error]bool{
		syscall.ENOMEM: true,
		fmt.Errorf("dial: %w", syscall.ENETUNREACH): true,
		syscall.ECONNREFUSED:                        false,
		syscall.EHOSTUNREACH:                        false,
		syscall.ETIMEDOUT:                           false,
		nil:                                         false,
	} {
		if portals.LocalFault(err) != want {
			t.Errorf("%v: want %v", err, want)
		}
	}
}
