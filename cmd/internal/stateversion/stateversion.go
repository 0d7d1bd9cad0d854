// Package stateversion keeps the version of a daemon's state directory in a file in that directory,
// so that a daemon neither changes nor misunderstands the files of a newer daemon, and brings those
// of an older one up to date. The file has one line, "ulnet state 1". A directory without it has
// version 0: it is new, or of a daemon before version 1.
package stateversion

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ulnet/cmd/internal/smallfile"
)

// File is the name of the file in the state directory.
const File = "version"

// prefix is what the line has before the number.
const prefix = "ulnet state "

// maxSize bounds the file in bytes.
const maxSize = 64

// ErrVersion means that a state directory is of a newer version, or that its version is unknown.
var ErrVersion = errors.New("the state directory is not of this version")

// errCut means that the end of the file is missing, as after a disk that failed.
var errCut = errors.New("the file with the version is cut")

// migrations bring a directory to the next version: the first one from version 0 to 1, and so on. A
// migration that was interrupted is run again, and must leave the directory usable for the daemons
// of the version before until it has succeeded.
var migrations = []func(dir string) error{
	func(string) error { return nil }, // version 1 adds the file
}

// Prepare brings the state directory to the version of this program. It changes nothing in the
// directory of a newer version. If the version file is cut, such as after the failure of a disk, Prepare
// takes the directory for one of this version, and the daemon starts: each other state file has a version
// of its own. If the directory does not exist, Prepare does nothing. It logs migrations, and a version
// that cannot be stored, such as on a full disk.
//
//	ErrVersion               the directory is of a newer version, or its file has no version
//	smallfile.ErrNotRegular  what has the name of the version file is a pipe, a directory or a device
func Prepare(dir string, log *slog.Logger) error { return prepare(dir, log, migrations) }

func prepare(dir string, log *slog.Logger, migrations []func(string) error) error {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	path := filepath.Join(dir, File)
	version, err := read(path)
	if errors.Is(err, errCut) {
		log.Warn("the version of the state directory is lost, and taken for that of this program", slog.String("file", path))
		store(path, len(migrations), log)
		return nil
	}
	if err != nil {
		return err
	}
	if version > len(migrations) {
		return fmt.Errorf("%w: %s has version %d, and this program knows those up to %d", ErrVersion, path, version, len(migrations))
	}
	for ; version < len(migrations); version++ {
		if err := migrations[version](dir); err != nil {
			return fmt.Errorf("%s: migration from version %d to %d: %w", dir, version, version+1, err)
		}
		if !store(path, version+1, log) || len(files) == 0 { // nothing to report: the version is not stored, or the directory has no files, so it is new
			continue
		}
		log.Info("state directory brought to another version", slog.String("dir", dir), slog.Int("from", version), slog.Int("to", version+1))
	}
	return nil
}

// read returns the version in a file, 0 if there is no file.
func read(path string) (int, error) {
	text, err := smallfile.Read(path, maxSize+1)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	number, ok := strings.CutPrefix(string(text), prefix)
	number, whole := strings.CutSuffix(number, "\n")
	n, err := strconv.ParseUint(number, 10, 31)
	if strings.HasPrefix(prefix, string(text)) || ok && !whole && err == nil {
		return 0, errCut
	}
	if !ok || !whole || err != nil || n == 0 {
		return 0, fmt.Errorf("%w: %s has no version: %.20q", ErrVersion, path, text)
	}
	return int(n), nil
}

// store replaces the file. If that fails, store logs it and returns false.
func store(path string, version int, log *slog.Logger) bool {
	err := write(path, version)
	if err != nil {
		log.Warn("the version of the state directory is not kept: make room, or see --state-dir", slog.Any("err", err))
	}
	return err == nil
}

// write replaces the file atomically.
func write(path string, version int) error {
	part := path + ".new"
	if err := smallfile.Create(part, fmt.Appendf(nil, "%s%d\n", prefix, version)); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
