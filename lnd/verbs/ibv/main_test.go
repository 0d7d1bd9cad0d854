package ibv

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that closed devices leave no goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
