package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuilt: if the commands exist in the given folder they are used and not built again. If a
// command is missing there, the error says what to do.
func TestBuilt(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "lnetd"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv(Env, bin)
	if got, err := Build(dir, "lnetd"); got != bin || err != nil {
		t.Error(got, err)
	}
	if _, err := Build(dir, "lnetd", "lnetctl"); err == nil || !strings.Contains(err.Error(), "unset it") {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error("built:", left, err)
	}
}

// TestBuild: without a folder of built commands, commands are built.
func TestBuild(t *testing.T) {
	t.Setenv(Env, "")
	dir := t.TempDir()
	if got, err := Build(dir, "soak"); got != dir || err != nil {
		t.Fatal(got, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "soak")); err != nil {
		t.Error(err)
	}
}
