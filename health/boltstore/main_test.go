package boltstore

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the test binary be what it starts: the check of a file, the
// process that the crash test kills, that which damages files, and one that checks a file
// beside other memory.
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
	// Under the race detector a process ends a second later, and there are many.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
