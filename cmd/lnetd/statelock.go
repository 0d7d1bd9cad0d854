package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"ulnet/cmd/internal/cli"
)

// lockState locks a state directory until unlock is called or the process ends. Two daemons with
// one directory would use the same incarnations and overwrite each other's records. The lock is
// on the directory itself, so that it needs no space on the disk. If the directory is missing,
// nothing is locked.
func lockState(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, dirError(err)
	}
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		f.Close()
		return nil, cli.Hint(fmt.Errorf("another lnetd uses the state directory %s", dir),
			"each daemon needs one of its own: --state-dir, or stop the other ('fuser -v %s' shows it)", dir)
	case err != nil: // the file system does not support locks: the daemon runs without one
		f.Close()
		return func() {}, nil
	}
	return func() { f.Close() }, nil
}
