// Package capturefile creates the files that captures are written to.
//
// A capture holds messages of other nodes and users, so only its owner may read it. Its name is
// often in a directory where other users can write, such as /tmp. Create therefore does not
// touch a file that is not a capture of the same user, and does not follow a symbolic link to a
// regular file.
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

// The reasons why Create refuses a file name.
var (
	ErrForeign = errors.New("the file is no capture of this user")
	ErrLink    = errors.New("the name is a symbolic link to a file")
)

// sectionHeader are the first bytes of a pcapng file, the same in both byte orders
// (draft-ietf-opsawg-pcapng §4.1).
const sectionHeader = 0x0A0D0D0A

// Create returns a new file with this name and mode 0600. An older capture of that name becomes
// name.1, the earlier name.1 becomes name.2, and so on, up to name.keep, where keep is at least
// 1; the oldest is deleted. FIFOs, devices and sockets, even behind symbolic links, are opened
// for writing as they are; opening a FIFO waits for its reader. Errors are those of the file
// system, ErrForeign and ErrLink.
func Create(name string, keep int) (*os.File, error) {
	for range 2 { // a second try if the file was removed between OpenFile and Lstat
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
		if err := shift(name, keep); err != nil {
			return nil, err
		}
		break // if another process has created a file at that name meanwhile, O_EXCL below makes the open fail
	}
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// Begin is Create for a program that may yet fail to start: the new file is name.0 until Settle, and older captures
// keep their names, so that failed starts do not push them out. A name.0 of such a start is removed.
func Begin(name string, keep int) (*os.File, error) {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return openSpecial(name)
	}
	if _, err := rotation(name, keep); err != nil {
		return nil, err
	}
	first := name + ".0"
	err := owned(first)
	if err == nil {
		err = os.Remove(first)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(first, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// Settle gives the file f of Begin its name, and renames older captures, as Create does. It does nothing if f is not a
// regular file. If name.0 is not f any more, because another program has begun the same capture, it fails and renames nothing.
func Settle(name string, keep int, f *os.File) error {
	if !Rotates(f) {
		return nil
	}
	if !leadsTo(name+".0", f) {
		return &fs.PathError{Op: "rename", Path: name + ".0", Err: fs.ErrNotExist}
	}
	if err := shift(name, keep); err != nil {
		return err
	}
	return os.Rename(name+".0", name)
}

// Undo takes back a Create that has renamed the capture live, which is still being written: it closes the
// file created and gives live its name back. If the name leads to another file now, Undo leaves that file
// alone. Older captures keep the names that Create has given them, and the oldest stays deleted.
func Undo(name string, created, live *os.File) error {
	defer created.Close()
	switch {
	case !leadsTo(name, created):
		return nil
	case leadsTo(name+".1", live):
		return os.Rename(name+".1", name)
	}
	return os.Remove(name)
}

// leadsTo reports whether name is that of an open file.
func leadsTo(name string, f *os.File) bool {
	there, err := os.Lstat(name)
	if err != nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && os.SameFile(there, info)
}

// Rotates reports whether a file that Create returned can be rotated. Only a regular file can.
func Rotates(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

// openSpecial opens a file that is not regular. It checks the type after opening, because only
// then is it certain to which file a symbolic link leads. Opening does not change the file.
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

// shift renames name to name.1, name.1 to name.2 and so on.
func shift(name string, keep int) error {
	names, err := rotation(name, keep)
	for i := len(names) - 1; i > 0 && err == nil; i-- {
		err = os.Rename(names[i-1], names[i])
	}
	return err
}

// rotation returns the names name, name.1 and so on, up to the first one that is free, or name.keep. The files at these
// names are captures of this user, or it returns an error.
func rotation(name string, keep int) (names []string, err error) {
	for i := range max(keep, 1) + 1 {
		next := name
		if i > 0 {
			next = fmt.Sprintf("%s.%d", name, i)
		}
		names = append(names, next)
		if err = owned(next); errors.Is(err, fs.ErrNotExist) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}

// owned returns nil if the file is a capture that this user owns. An empty file counts as a
// capture, because nothing can be lost.
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
