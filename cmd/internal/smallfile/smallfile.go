// Package smallfile reads and creates the small files of a state directory. It reads regular files alone,
// because opening a pipe or a device can block without end.
package smallfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrNotRegular means that a path leads to a directory, pipe, socket or device.
var ErrNotRegular = errors.New("not a regular file")

// Read returns the content of a file, at most limit bytes of it.
func Read(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // O_NONBLOCK: a pipe without a writer is refused below
	if errors.Is(err, syscall.ENXIO) {                             // the path leads to a Unix socket
		return nil, fmt.Errorf("%s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", path, ErrNotRegular)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// Create creates a file with a content, and syncs it. It first removes what is at the path, but a directory
// only if it is empty. After an error there is no file.
func Create(path string, content []byte) error {
	if err := remove(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // O_EXCL: never an existing pipe, nor a symbolic link
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, remove(path))
	}
	return nil
}

func remove(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
