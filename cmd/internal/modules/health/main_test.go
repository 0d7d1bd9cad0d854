package health

import (
	"os"
	"testing"

	"ulnet/health/boltstore"
)

// TestMain lets the test binary be what nodes start: the check of the records of
// connections.
func TestMain(m *testing.M) {
	if code, asked := boltstore.Child(os.Args[1:], os.Stdout); asked {
		os.Exit(code)
	}
	os.Exit(m.Run())
}
