// Package commands builds the commands of this module for tests.
package commands

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"ulnet/lnd/lndtest/effort"
)

// Env is the environment variable with a folder of commands that are already built. Without it
// each test process links its own commands, which takes seconds of CPU time per command. The
// targets check and test of the Makefile build the commands from the source under test, with the
// race detector if the tests have it, and set the variable.
const Env = "ULNET_BIN"

// Build returns a folder with commands. That is the folder in Env if the variable is set.
// Otherwise it is dir, into which Build builds them, with the race detector if the calling test
// runs under it.
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

// have checks that commands exist. Because it looks at the files, Go runs a test again after a
// command has changed, instead of reusing the cached result.
func have(bin string, names []string) error {
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			return fmt.Errorf("%s=%s: %w; unset it, and tests build what they need", Env, bin, err)
		}
	}
	return nil
}
