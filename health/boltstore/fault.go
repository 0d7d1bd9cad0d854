package boltstore

import (
	"errors"
	"fmt"
	"runtime/debug"
	"syscall"
)

// guard calls f, which reads the mapped file. It returns [ErrFault] if a page cannot be read
// (SIGBUS), as on a failing disk or after the file was truncated. It also returns ErrFault if a
// page differs from what bbolt wrote.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrFault, r)
		}
	}()
	return f()
}

// renewMetas is called before the first commit after one that failed. It writes the meta pages again, with the
// content that they have, and waits for the disk. If the sync of a commit fails with EIO, the kernel takes its pages for
// written, although they are in its cache only. Of these, bbolt reads the meta page alone: it syncs the other pages of a
// commit before, and does not refer to them if that fails. Without renewMetas, the disk would lack that meta page until
// the next commit but one, and after a power failure the two meta pages would not be of successive commits, which looks
// like damage.
func (s *Store) renewMetas() error {
	m, err := meta(s.file, 0)
	if err != nil {
		return err
	}
	pages := make([]byte, 2*m.pageSize)
	if _, err := s.file.ReadAt(pages, 0); err != nil {
		return err
	}
	if _, err := s.file.WriteAt(pages, 0); err != nil {
		return err
	}
	err = s.file.Sync()
	s.unsynced = err != nil
	return err
}

// giveUp closes the database after an error. After a panic bbolt may still hold its locks, and
// closing the database would block for ever. In that case giveUp leaves the file mapped, which
// costs address space but no memory, and unlocks the file itself, because closing a mapped file
// does not unlock it.
func (s *Store) giveUp(why error) error {
	if !errors.Is(why, ErrFault) {
		return s.release()
	}
	file := s.file
	s.db, s.file = nil, nil
	if file == nil {
		return nil
	}
	return errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
}

// release closes the database, if it is open.
func (s *Store) release() error {
	if s.db == nil {
		return nil
	}
	err := s.db.Close()
	s.db, s.file = nil, nil
	return err
}
