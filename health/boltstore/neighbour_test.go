package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"go.etcd.io/bbolt"
)

// neighbourVerb is the argument with which the test binary checks a file while other memory of
// the process is mapped right behind the file.
const neighbourVerb = "boltstore-neighbour"

// beside checks a file that has a mapping of zeros right behind it. Linux places each new
// mapping right below the one before, so beside maps the zeros first.
func beside(path string, out io.Writer) int {
	if _, err := syscall.Mmap(-1, 0, 4<<20, syscall.PROT_READ, syscall.MAP_ANON|syscall.MAP_PRIVATE); err != nil {
		fmt.Fprintln(out, err)
		return exitFailed
	}
	if _, _, err := inspect(path); err != nil {
		fmt.Fprintln(out, err)
		return exitDamaged
	}
	return exitSound
}

// branches returns the numbers of the branch pages that a sound file uses.
func branches(t *testing.T, b []byte) (pages []int) {
	t.Helper()
	edited(t, b, func(tx *bbolt.Tx) error {
		for i := 0; ; i++ {
			switch p, err := tx.Page(i); {
			case err != nil || p == nil:
				return err
			case p.Type == "branch":
				pages = append(pages, i)
			}
		}
	})
	return pages
}

// TestKeyOutsideFile: the check finds a branch page whose first key has an offset beyond the
// end of the file. Reading the key would read other memory of the process.
func TestKeyOutsideFile(t *testing.T) {
	b := whole(t, 300)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pages := branches(t, b)
	if len(pages) == 0 {
		t.Fatal("no branch page")
	}
	for _, page := range pages {
		damaged := bytes.Clone(b)
		damaged[page*os.Getpagesize()+pageHeader+2] |= 1 << 2 // the offset of the key grows by 256 KiB
		path := dbPath(t)
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		said, err := exec.CommandContext(t.Context(), self, neighbourVerb, path).CombinedOutput()
		if exit, _ := errors.AsType[*exec.ExitError](err); exit == nil || exit.ExitCode() == exitFailed {
			t.Errorf("page %d: the check says %v: %s", page, err, said)
		}
	}
}
