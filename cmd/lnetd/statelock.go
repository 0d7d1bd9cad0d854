package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"syscall"

	"ulnet/cmd/internal/cli"
)

// stateLock is the lock on a state directory.
type stateLock struct {
	file    *os.File
	missing error // why the file system has no locks, or nil
}

// noLocks are errors of flock from file systems that cannot lock a directory. NFS and CIFS return EBADF if they
// pass the lock on to a server, because a directory cannot be open for writing.
var noLocks = []syscall.Errno{syscall.ENOLCK, syscall.ENOTSUP, syscall.ENOSYS, syscall.EINVAL, syscall.EBADF}

// lockState locks a state directory by flock until release is called or the process ends. Two daemons with
// one directory would use the same incarnations and overwrite each other's records. The lock is
// on the directory itself, so that it needs no space on the disk. If the directory does not exist, nothing is
// locked, not even if a module makes it later: the modules that need it report that it is missing. Nor is
// it locked if its file system has no locks; the field missing has the error then.
func lockState(dir string, flock func(fd, how int) error) (*stateLock, error) {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return new(stateLock), nil
	}
	if err != nil {
		return nil, dirError(err)
	}
	err = syscall.EINTR
	for errors.Is(err, syscall.EINTR) {
		err = flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err == nil {
		return &stateLock{file: f}, nil
	}
	f.Close()
	if slices.ContainsFunc(noLocks, func(none syscall.Errno) bool { return errors.Is(err, none) }) {
		return &stateLock{missing: err}, nil
	}
	return nil, lockError(dir, err)
}

// lockError returns the error of a daemon that cannot lock its state directory.
func lockError(dir string, err error) error {
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return cli.Hint(fmt.Errorf("another lnetd uses the state directory %s", dir),
			"each daemon needs one of its own: --state-dir, or stop the other ('fuser -v %s' shows it)", dir)
	}
	return cli.Hint(fmt.Errorf("the state directory %s cannot be locked: %w", dir, err),
		"look at its disk and at the kernel's log, or choose another directory with --state-dir")
}

// release ends the lock. It may be called on nil.
func (l *stateLock) release() {
	if l != nil && l.file != nil {
		l.file.Close()
	}
}

// warnUnlocked logs why the state directory is not locked, unless why is nil.
func warnUnlocked(log *slog.Logger, dir string, why error) {
	if why != nil {
		log.Warn("the state directory is not locked: nothing keeps a second lnetd from using it, which would spoil the incarnations and records of both; see that no other has the same --state-dir",
			slog.String("dir", dir), slog.Any("err", why))
	}
}
