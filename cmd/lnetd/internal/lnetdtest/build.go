// Package lnetdtest runs real lnetd processes for tests and asks them with the
// real lnetctl, gossipctl and scollctl. What it starts ends with its test, also when the test process
// is killed.
package lnetdtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Commands are the commands of the tree.
type Commands struct{ dir string }

// Main runs the tests of a package that uses Build, and removes what Build has
// built. It returns the exit code, for os.Exit in TestMain.
func Main(m *testing.M) int {
	defer func() {
		if built.dir != "" {
			_ = os.RemoveAll(built.dir)
		}
	}()
	return m.Run()
}

// built is what build has built, for Main.
var built Commands

// Build returns lnetd, lnetctl, gossipctl and scollctl, built once per test process, and under the
// race detector if the test runs under it. The package's TestMain calls Main.
func Build(t testing.TB) Commands {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	return built
}

var build = sync.OnceValue(func() (err error) {
	if built.dir, err = os.MkdirTemp("", "lnetdtest"); err != nil {
		return err
	}
	args := []string{"build", "-o", built.dir + string(filepath.Separator)}
	if RaceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "ulnet/cmd/lnetd", "ulnet/cmd/lnetctl", "ulnet/cmd/gossipctl", "ulnet/cmd/scollctl")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return nil
})
