package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	bolterrors "go.etcd.io/bbolt/errors"

	"ulnet/lnd/lndtest/spec"
)

// TestCheckCodes: CH-65: an error of the operating system, such as a lack of memory or a file system that has no locks,
// says nothing about the database, so the check has failed. bbolt returns such errors bare or with a path.
func TestCheckCodes(t *testing.T) {
	spec.Covers(t, "CH-65")
	for _, test := range []struct {
		err  error
		code int
	}{
		{syscall.ENOMEM, exitFailed},
		{syscall.ENOLCK, exitFailed},
		{syscall.EIO, exitFailed},
		{openError(syscall.ENOSYS), exitFailed},
		{errors.Join(syscall.EINVAL, errors.New("close")), exitFailed},
		{&os.PathError{Op: "open", Path: "clients.db", Err: syscall.EMFILE}, exitFailed},
		{openError(bolterrors.ErrTimeout), exitInUse},
		{openError(bolterrors.ErrVersionMismatch), exitVersion},
		{openError(bolterrors.ErrInvalid), exitDamaged},
		{fmt.Errorf("%w: the file is empty", errDamaged), exitDamaged},
	} {
		if code := checkCode(test.err); code != test.code {
			t.Errorf("%v: exit code %d, want %d", test.err, code, test.code)
		}
	}
}

// TestNoThreads: CH-65: if a check crashes because the system gives it no thread or no memory, the check counts as
// failed, and the file stays where it is. After any other crash of the check, the file counts as damaged.
func TestNoThreads(t *testing.T) {
	spec.Covers(t, "CH-65")
	for last, damaged := range map[string]bool{
		"runtime: failed to create new OS thread (have 5 already; errno=11)":           false,
		"runtime: out of memory: cannot allocate 4194304-byte block (67108864 in use)": false,
		"fatal error: runtime: out of memory":                                          false,
		"fatal error: runtime: cannot allocate memory":                                 false,
		"fatal error: out of memory allocating heap arena map":                         false,
		"fatal error: pageAlloc: out of memory":                                        false,
		"fatal error: fault":                                                           true,
		"panic: out of memory":                                                         true,
		"it takes more than 128 MiB of memory":                                         true,
	} {
		path := filepath.Join(t.TempDir(), "clients.db")
		s, err := Open(Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		script := fmt.Sprintf("printf '%s'; echo '%s' >&2; exit %d", strings.ReplaceAll(greeting, "\n", `\n`), last, exitCrash)
		s, err = Open(Config{Path: path, Checker: []string{"/bin/sh", "-c", script}})
		if damaged {
			if err != nil || s.Stats().SetAside == "" {
				t.Fatalf("%q: %v, not set aside", last, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), last) {
			t.Errorf("%q: %v", last, err)
		}
		if aside, _ := filepath.Glob(path + ".*"); len(aside) > 0 {
			t.Errorf("%q: set aside: %v", last, aside)
		}
	}
}

// TestFileSize: CH-65: a file that is much longer than its pages, and a list of more free pages than there are pages,
// are damage, which the check finds before it maps the file or allocates the list: it could not tell either from
// a lack of memory.
func TestFileSize(t *testing.T) {
	spec.Covers(t, "CH-65")
	sound := whole(t, 100)
	m := latest(t, sound)
	for size, fits := range map[int64]bool{
		int64(len(sound)): true, 1 << 30: true, 1 << 43: false, 1 << 62: false, math.MaxInt64: false, 0: true,
	} {
		if err := m.fits(size); fits && err != nil || !fits && (!errors.Is(err, errDamaged) || !strings.Contains(err.Error(), fmt.Sprint(size))) {
			t.Errorf("a file of %d bytes: %v", size, err)
		}
	}
	for count, damaged := range map[uint64]bool{0: false, m.pages + 1: true, 1 << 40: true, 1 << 63: true} {
		b := bytes.Clone(sound)
		list := b[m.freelist*4096:]
		binary.NativeEndian.PutUint16(list[10:], math.MaxUint16)
		binary.NativeEndian.PutUint64(list[pageHeader:], count)
		path := dbPath(t)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := metas(path); damaged != errors.Is(err, errDamaged) {
			t.Errorf("%d free pages: %v", count, err)
		}
	}
}

// latest returns the meta page of a database's latest commit.
func latest(t *testing.T, b []byte) metaPage {
	t.Helper()
	first, err := meta(bytes.NewReader(b), 0)
	if err != nil {
		t.Fatal(err)
	}
	second, err := meta(bytes.NewReader(b), 4096)
	if err != nil {
		t.Fatal(err)
	}
	if second.commit > first.commit {
		return second
	}
	return first
}
