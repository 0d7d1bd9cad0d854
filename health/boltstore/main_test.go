package boltstore

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain also serves as the main function of the processes that the tests start: the check of
// a file, the worker of the crash test, the sweeper, and the check of a file that lies next to
// other memory.
func TestMain(m *testing.M) {
	if code, asked := Child(os.Args[1:], os.Stdout); asked {
		os.Exit(code)
	}
	if len(os.Args) == 4 && os.Args[1] == workerVerb {
		os.Exit(work(os.Args[2], os.Args[3], os.Stdout))
	}
	if len(os.Args) == 3 && os.Args[1] == neighbourVerb {
		os.Exit(beside(os.Args[2], os.Stdout))
	}
	if len(os.Args) == 5 && os.Args[1] == sweeperVerb {
		os.Exit(sweeper(os.Args[2], os.Args[3], os.Args[4], os.Stdout))
	}
	// The race detector makes every process wait a second at its exit, and the tests start many.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
