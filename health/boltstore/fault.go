package boltstore

import (
	"errors"
	"fmt"
	"runtime/debug"
	"syscall"
)

// guard calls f, which reads the file where bbolt has it in memory. A page that cannot be
// read (SIGBUS), as on a disk that fails or in a file that was cut, and one that is not
// what bbolt wrote, are [ErrFault].
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrFault, r)
		}
	}()
	return f()
}

// giveUp closes the database after an error. Where bbolt panicked it may have kept locks,
// so that to close it would take for ever: its mapping is left then, some addresses and
// no memory, and the file is unlocked, which closing it does not while it is mapped.
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
