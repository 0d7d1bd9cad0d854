// Package capturefile opens the files that captures are written to.
//
// A capture holds what others said, so its file is readable for its owner alone. Its
// name often stands in a directory where other users write too: Create therefore
// changes no file that is not a capture of the same user, and follows no symbolic
// link to a regular file.
package capturefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Why Create refuses a name.
var (
	ErrForeign = errors.New("the file is no capture of this user")
	ErrLink    = errors.New("the name is a symbolic link to a file")
)

// sectionHeader is what a pcapng file begins with, in both byte orders
// (draft-ietf-opsawg-pcapng §4.1).
const sectionHeader = 0x0A0D0D0A

// Create returns a new file with this name and mode 0600. An older capture of that
// name becomes name.1, the one that had that name becomes name.2 and so on, up to
// keep, at least 1; the oldest is deleted. FIFOs, devices and sockets, also at the
// end of symbolic links, are opened for writing as they are; a FIFO waits for its
// reader. Errors are those of the file system, ErrForeign and ErrLink.
func Create(name string, keep int) (*os.File, error) {
	for range 2 { // the second time when the name was free after the first look
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return openSpecial(name)
		}
		if err := shift(name, max(keep, 1)); err != nil {
			return nil, err
		}
		break // what has the name by now was put there meanwhile, a FIFO perhaps
	}
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// Rotates reports whether a file that Create returned can be followed by another of
// its name: it is a regular one.
func Rotates(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

// openSpecial opens what is no regular file. Where a link leads is known for certain
// only once that is open: nothing has been changed by then.
func openSpecial(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err == nil && Rotates(f) {
		err = errors.Join(&fs.PathError{Op: "open", Path: name, Err: ErrLink}, f.Close())
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// shift moves name to name.1 and what has that name one further.
func shift(name string, keep int) error {
	names := make([]string, keep+1)
	names[0] = name
	last := 0 // index of the first free name, or of the oldest
	for i := range names {
		if i > 0 {
			names[i] = fmt.Sprintf("%s.%d", name, i)
		}
		last = i
		err := owned(names[i])
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return err
		}
	}
	for i := last; i > 0; i-- {
		if err := os.Rename(names[i-1], names[i]); err != nil {
			return err
		}
	}
	return nil
}

// owned returns nil if the name is that of a capture that this user owns. An empty
// file counts as one: with it nothing is lost.
func owned(name string) error {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return &fs.PathError{Op: "rename", Path: name, Err: ErrLink}
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	foreign := &fs.PathError{Op: "rename", Path: name, Err: ErrForeign}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || int(stat.Uid) != os.Geteuid() {
		return foreign
	}
	var magic [4]byte
	_, err = io.ReadFull(f, magic[:])
	if err != nil && !errors.Is(err, io.EOF) || err == nil && binary.BigEndian.Uint32(magic[:]) != sectionHeader {
		return foreign
	}
	return nil
}
