package boltstore

import (
	"errors"
	"fmt"
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

// TestNoThreads: CH-65: a check that crashes because the system gives it no thread has failed: the file stays where it
// is. After another crash it is damaged.
func TestNoThreads(t *testing.T) {
	spec.Covers(t, "CH-65")
	for last, damaged := range map[string]bool{
		"runtime: failed to create new OS thread (have 5 already; errno=11)": false,
		"fatal error: fault": true,
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
