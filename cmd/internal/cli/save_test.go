//go:build linux

package cli_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/lndtest/smalldisk"
)

// picture draws something that needs more than a page of a disk.
func picture(w io.Writer) error {
	_, err := io.WriteString(w, strings.Repeat("picture ", 1000))
	return err
}

// TestSaveUnfinished: a file for which a full disk has no room is removed.
func TestSaveUnfinished(t *testing.T) {
	disk := smalldisk.New(t)
	disk.Fill()
	err := disk.Do(func() error {
		path := filepath.Join(disk.Dir, "tree.svg")
		if err := cli.Save(path, "--svg", picture); !errors.Is(err, syscall.ENOSPC) || cli.HintOf(err) != "make room, or choose another file with --svg" {
			t.Errorf("error %v, hint %q, want ENOSPC", err, cli.HintOf(err))
		}
		_, err := os.Stat(path)
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: error %v", err)
	}
}

// TestSaveUnfinishedLink: anything but a regular file stays when it cannot be written. Root could otherwise remove a
// device, and a symbolic link is not what was written to.
func TestSaveUnfinishedLink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "link.svg")
	if err := os.Symlink("/dev/full", path); err != nil {
		t.Fatal(err)
	}
	if err := cli.Save(path, "--svg", picture); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v, want ENOSPC", err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}

// TestSaveNotDrawn: what cannot be drawn leaves an earlier file as it is.
func TestSaveNotDrawn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.svg")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := cli.Save(path, "--svg", func(w io.Writer) error { return errors.Join(picture(w), syscall.EDOM) })
	if text, failed := os.ReadFile(path); !errors.Is(err, syscall.EDOM) || failed != nil || string(text) != "old" {
		t.Errorf("error %v, file %q, %v", err, text, failed)
	}
	if err := cli.Save(path, "--svg", picture); err != nil {
		t.Error(err)
	}
	if is, err := os.Stat(path); err != nil || is.Size() != 8000 {
		t.Errorf("file %+v, %v", is, err)
	}
}
