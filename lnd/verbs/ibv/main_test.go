package ibv

import (
	"testing"

	"go.uber.org/goleak"
)

// A device that is closed leaves no goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
