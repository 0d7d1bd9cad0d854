package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"ulnet/cmd/internal/cli"
)

// lockState keeps other daemons out of a state directory until the result is called, or
// the process ends: two would have the same incarnations, and overwrite each other's
// records. The directory itself is locked, which needs no room on its disk. One that is not
// there needs no lock.
func lockState(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, cli.Hint(err, "choose a directory of yours with --state-dir")
	}
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		f.Close()
		return nil, cli.Hint(fmt.Errorf("another lnetd uses the state directory %s", dir),
			"each daemon needs one of its own: --state-dir, or stop the other ('fuser -v %s' shows it)", dir)
	case err != nil: // a file system without locks
		f.Close()
		return func() {}, nil
	}
	return func() { f.Close() }, nil
}
