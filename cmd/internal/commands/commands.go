// Package commands gives tests the commands of the tree as programs.
package commands

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"ulnet/lnd/lndtest/effort"
)

// Env names the folder of commands that are built already. Each test process would
// otherwise link its own, which takes seconds of CPU time per command. make check and make
// test build them from the source that they test, with the race detector if the tests
// have it, and set it.
const Env = "ULNET_BIN"

// Build returns a folder with commands: that of Env, or else dir, for which it builds
// them, with the race detector if the calling test runs under it.
func Build(dir string, names ...string) (string, error) {
	if bin := os.Getenv(Env); bin != "" {
		return bin, have(bin, names)
	}
	args := []string{"build", "-o", dir + string(filepath.Separator)}
	if effort.Race {
		args = append(args, "-race")
	}
	for _, name := range names {
		args = append(args, "ulnet/cmd/"+name)
	}
	cmd := exec.Command("go", args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return dir, nil
}

// have looks for commands. Go takes a test's cached result only if the files that it
// looked for are still the same, so a changed command makes tests run again.
func have(bin string, names []string) error {
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			return fmt.Errorf("%s=%s: %w; unset it, and tests build what they need", Env, bin, err)
		}
	}
	return nil
}
