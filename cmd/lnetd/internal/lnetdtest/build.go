// Package lnetdtest runs real lnetd processes for tests, and lnetctl, gossipctl and scollctl
// against them. Its processes end with their test, also when the test process is killed.
package lnetdtest

import (
	"os"
	"sync"
	"testing"

	"ulnet/cmd/internal/commands"
)

// Commands are the built commands of this repository.
type Commands struct {
	dir  string
	temp string // the folder that Main removes
}

// Main runs the tests of a package that uses Build, and removes the commands that Build has
// built. It returns the exit code for os.Exit in TestMain.
func Main(m *testing.M) int {
	defer func() {
		if built.temp != "" {
			_ = os.RemoveAll(built.temp)
		}
	}()
	return m.Run()
}

// built are the commands that build has built, for Main.
var built Commands

// Build returns lnetd, lnetctl, gossipctl and scollctl, built once per test process, and under
// the race detector if the test runs under it. The package's TestMain must call Main.
func Build(t testing.TB) Commands {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	return built
}

var build = sync.OnceValue(func() (err error) {
	if built.temp, err = os.MkdirTemp("", "lnetdtest"); err != nil {
		return err
	}
	built.dir, err = commands.Build(built.temp, "lnetd", "lnetctl", "gossipctl", "scollctl")
	return err
})
