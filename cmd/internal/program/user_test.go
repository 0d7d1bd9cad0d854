package program_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"ulnet/cmd/internal/program"
)

// TestUserOfAction: an unknown user is reported at the start.
func TestUserOfAction(t *testing.T) {
	if _, err := program.UserOf("action a", "no such user"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("%v", err)
	}
	own, err := program.UserOf("action a", fmt.Sprint(os.Geteuid()))
	if err != nil || (own == nil) == (os.Geteuid() == 0) {
		t.Errorf("%+v, %v", own, err)
	}
}
