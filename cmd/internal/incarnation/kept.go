package incarnation

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
)

// Kept returns the number that Keep last stored in dir under the given name; 0 if there is none.
// After an error the number is unknown. A damaged file is set aside, and the error says so.
func Kept(dir, name string) (uint64, error) {
	path := keptPath(dir, name)
	n, err := read(path)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, fs.ErrNotExist):
		_, err = filepath.EvalSymlinks(dir) // an error means that the directory does not exist
		return 0, err
	}
	return 0, errors.Join(err, setAside(path, err))
}

// Keep stores a number in dir under a name, unless a higher one is stored already.
func Keep(dir, name string, n uint64) error {
	path := keptPath(dir, name)
	if last, err := read(path); err == nil && last >= n {
		return nil
	}
	return write(path, n)
}

// keptPath returns the path of the file for a name. The name may be longer than file names may
// be, and have any character.
func keptPath(dir, name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(dir, File+"-"+hex.EncodeToString(sum[:8]))
}
