package admin

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// filePrefix is the prefix of the names of files with bulk data. No part of such a name comes
// from the network.
const filePrefix = "scoll-"

// lockName is the name of the file whose lock stands for the folder. The folder itself cannot be locked
// if it is the state directory, because the daemon has locked that already.
const lockName = "scoll.lock"

// folder is the folder of files with bulk data, and its lock. A daemon that gets the lock at its
// start removes the files of a daemon that was killed.
type folder struct {
	path string   // absolute, because actions run in another folder; "": the system's folder
	lock *os.File // locked while the folder is used; nil for the system's folder of temporary files
}

// openFolder opens a folder and removes files that a killed daemon has left there.
func openFolder(path string, log *slog.Logger) (f folder) {
	if path == "" {
		return f
	}
	var err error
	if f.path, err = filepath.Abs(path); err == nil {
		f.lock, err = os.OpenFile(filepath.Join(f.path, lockName), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	}
	if err != nil {
		log.Error("folder for bulk data", slog.Any("err", err))
		return f
	}
	fd := int(f.lock.Fd())
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
		f.removeLeft(log)
	}
	if err := unix.Flock(fd, unix.LOCK_SH); err != nil {
		log.Warn("folder for bulk data: whoever begins here removes our files too", slog.Any("err", err))
	}
	return f
}

func (f folder) removeLeft(log *slog.Logger) {
	entries, err := os.ReadDir(f.path)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), filePrefix) || !e.Type().IsRegular() {
			continue
		}
		if rerr := os.Remove(filepath.Join(f.path, e.Name())); rerr != nil {
			err = rerr
		}
	}
	if err != nil {
		log.Warn("files with bulk data are left", slog.Any("err", err))
	}
}

func (f folder) close() {
	if f.lock != nil {
		_ = f.lock.Close() // an error does not matter, because nothing was written
	}
}

// file writes bulk data to a new file, which only this user may read.
func (f folder) file(bulk [][]byte) (name string, err error) {
	to, err := os.CreateTemp(f.path, filePrefix+"*")
	if err != nil {
		return "", err
	}
	for _, b := range bulk {
		if _, err = to.Write(b); err != nil {
			break
		}
	}
	if cerr := to.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(to.Name())
	}
	return to.Name(), err
}
