// Package lnetdtest runs real lnetd processes for tests and asks them with the
// real lnetctl. What it starts ends with its test, also when the test process
// is killed.
package lnetdtest

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Commands are the commands of the tree, built for one test.
type Commands struct{ dir string }

// Build builds lnetd and lnetctl, under the race detector if the test runs
// under it. Subtests share what their parent has built.
func Build(t testing.TB) Commands {
	t.Helper()
	dir := t.TempDir()
	args := []string{"build", "-o", dir + string(filepath.Separator)}
	if RaceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, "ulnet/cmd/lnetd", "ulnet/cmd/lnetctl")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return Commands{dir}
}
