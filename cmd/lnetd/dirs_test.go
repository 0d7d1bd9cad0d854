package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
)

// TestDirErrors: if every start would meet the same error of a directory, the exit code is 78, so that systemd
// does not start lnetd again, and the error says what is there. After other errors, such as too many open
// files or a symbolic link to a mount that is late, another start may succeed.
func TestDirErrors(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "nothing"), link); err != nil {
		t.Fatal(err)
	}
	linked := link + " is a symbolic link to what does not exist"
	for bad, want := range map[string]struct {
		code int
		text string
	}{
		file: {cli.Config, "not a directory"}, filepath.Join(file, "x"): {cli.Config, "not a directory"},
		link: {cli.Failed, linked}, filepath.Join(link, "x"): {cli.Failed, linked},
	} {
		for _, dirs := range [][2]string{{bad, dir}, {dir, bad}} {
			cfg := config.Config{StateDir: dirs[0], RuntimeDir: dirs[1], Socket: filepath.Join(dir, "s")}
			err := dirError(makeDirs(cfg, config.Dirs{UID: os.Getuid()}))
			if cli.ExitCode(err) != want.code || err == nil || !strings.Contains(err.Error(), want.text) || cli.HintOf(err) == "" {
				t.Errorf("%s: %v (exit code %d), want %+v", dirs, err, cli.ExitCode(err), want)
			}
		}
	}
	for cause, code := range map[error]int{syscall.EACCES: cli.Config, syscall.EMFILE: cli.Failed, syscall.ENOSPC: cli.Failed} {
		if err := dirError(&os.PathError{Op: "mkdir", Path: dir, Err: cause}); cli.ExitCode(err) != code {
			t.Errorf("%v: exit code %d, want %d", cause, cli.ExitCode(err), code)
		}
	}
	if err := dirError(nil); err != nil {
		t.Error(err)
	}
}
