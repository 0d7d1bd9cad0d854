package incarnation

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"

	"ulnet/cmd/internal/smallfile"
)

// A file has a number, big-endian, and the CRC-32C of the number, big-endian.
const (
	numberSize = 8
	fileSize   = numberSize + crc32.Size
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errDamaged means that the content of a file is not as it was written.
var errDamaged = errors.New("the file is damaged")

// read returns the number in a file. Errors are errDamaged, also for what is not a regular file, and those
// of the system.
func read(path string) (uint64, error) {
	b, err := smallfile.Read(path, fileSize+1)
	if errors.Is(err, smallfile.ErrNotRegular) {
		return 0, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if err != nil {
		return 0, err
	}
	if len(b) != fileSize || crc32.Checksum(b[:numberSize], castagnoli) != binary.BigEndian.Uint32(b[numberSize:]) {
		return 0, fmt.Errorf("%s: %w", path, errDamaged)
	}
	n := binary.BigEndian.Uint64(b)
	if n == math.MaxUint64 {
		return 0, fmt.Errorf("%s: %w: there is no number after the greatest", path, errDamaged)
	}
	return n, nil
}

// setAside renames a file if the error why is errDamaged, so that people can examine the file. It returns an
// error that says the new name, or why the file could not be renamed; nil: the file is not damaged. The next
// file that is damaged replaces the renamed one.
func setAside(path string, why error) error {
	if !errors.Is(why, errDamaged) {
		return nil
	}
	if err := os.Rename(path, path+aside); err != nil {
		return err
	}
	return fmt.Errorf("it is set aside as %s", path+aside)
}

// write replaces a file atomically: after a crash, or on a full disk, the file has either the
// old number or the new one.
func write(path string, n uint64) error {
	b := binary.BigEndian.AppendUint64(nil, n)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	part := path + ".new"
	if err := smallfile.Create(part, b); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes the names in a directory durable. It is a variable for tests.
var syncDir = func(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
