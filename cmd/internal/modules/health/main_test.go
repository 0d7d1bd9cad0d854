package health

import (
	"os"
	"testing"

	"ulnet/health/boltstore"
)

// TestMain also serves as the main function of the process that nodes start to check the records
// of connections.
func TestMain(m *testing.M) {
	if code, asked := boltstore.Child(os.Args[1:], os.Stdout); asked {
		os.Exit(code)
	}
	os.Exit(m.Run())
}
