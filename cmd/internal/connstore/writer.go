package connstore

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
)

// Bounds of one commit: what comes later waits for the next one, so that no
// commit takes long.
const (
	maxBatch      = 4096
	maxBatchBytes = 8 << 20
)

// run commits what waits, until Close.
func (s *Store) run() {
	defer close(s.ended)
	// Commits are system calls that block. With a thread of its own the writer
	// disturbs nobody's, and each child of the crash test writes in one thread.
	runtime.LockOSThread()
	for range s.wake {
		s.drain()
	}
	s.drain() // what came before Close
}

func (s *Store) drain() {
	for {
		batch := s.take()
		if len(batch) == 0 {
			return
		}
		began := time.Now()
		wrote, err := s.commit(batch)
		s.account(batch, wrote, err, time.Since(began))
		for i := range batch {
			if c := &batch[i]; c.done != nil {
				c.done(cmp.Or(c.err, err))
			}
		}
	}
}

// take returns the calls of the next commit.
func (s *Store) take() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, size := 0, 0
	for n < min(len(s.waiting), maxBatch) && size < maxBatchBytes {
		size += len(s.waiting[n].record)
		n++
	}
	batch := s.waiting[:n:n]
	if s.waiting = s.waiting[n:]; len(s.waiting) == 0 {
		s.waiting = nil
	}
	return batch
}

// account counts a commit, and says so when commits begin to fail or to succeed. One
// that wrote nothing, as to remove what is not there, is no sign of either.
func (s *Store) account(batch []call, wrote bool, err error, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	failed := 0
	for i := range batch {
		if err != nil || batch[i].err != nil {
			failed++
		}
	}
	st := &s.stats
	st.Failed += uint64(failed)
	st.Saved += uint64(len(batch) - failed)
	st.Commits++
	st.Slowest = max(st.Slowest, took)
	st.Records = len(s.places)
	if !wrote && err == nil {
		return
	}
	was := st.Error
	st.Error = ""
	if err != nil {
		st.Error = err.Error()
	}
	switch {
	case err != nil && was == "":
		s.cfg.Log.Error("connections of clients cannot be saved: new ones are refused", "path", s.cfg.Path, "err", err)
	case err == nil && was != "":
		s.cfg.Log.Info("connections of clients are saved again", "path", s.cfg.Path)
	}
}

// commit makes calls durable, in their order, or fails for all of them. It reports
// whether it wrote.
func (s *Store) commit(batch []call) (wrote bool, err error) {
	switch {
	case s.broken:
		return false, ErrBroken
	case s.readOnly != nil:
		if err := s.writeAgain(); err != nil {
			return false, err
		}
	}
	s.open.RLock()
	closed := s.db == nil
	s.open.RUnlock()
	if closed {
		if err := s.reopen(); err != nil {
			return false, fmt.Errorf("open %s again: %w", s.cfg.Path, err)
		}
	}
	p := s.plan(batch)
	if len(p.changes) == 0 && len(p.graves) == 0 && len(p.voids) == 0 {
		return false, nil
	}
	err = s.update(&p)
	if err == nil {
		p.apply(s)
		return true, nil
	}
	if !s.broken {
		s.open.Lock() // what the file is now, only opening it tells
		err = errors.Join(err, s.db.Close())
		s.db = nil
		s.open.Unlock()
	}
	return false, fmt.Errorf("%s: %w", s.cfg.Path, err)
}

// tryAgainAfter passes between two attempts to write to a disk that was read-only.
const tryAgainAfter = 5 * time.Second

// writeAgain opens a file for writing that could only be read, now and then: somebody
// may have made the disk writable.
func (s *Store) writeAgain() error {
	if now := s.cfg.Now(); now.Sub(s.tried) >= tryAgainAfter || now.Before(s.tried) {
		s.tried = now
		if err := s.openForWriting(); err == nil || !readOnlyError(err) {
			return err
		}
	}
	return s.readOnly
}

// openForWriting opens the file, for reading alone if it cannot be written. The error
// says so then.
func (s *Store) openForWriting() error {
	s.open.Lock()
	before := s.db
	s.db = nil
	s.open.Unlock()
	if before != nil {
		if err := before.Close(); err != nil {
			return err
		}
	}
	s.readOnly = nil
	err := s.reopen()
	if err != nil && readOnlyError(err) {
		s.readOnly, s.tried = err, s.cfg.Now()
		return errors.Join(err, s.reopen())
	}
	return err
}

// update writes a plan. What happens to bbolt in a page that cannot be read, or is
// not what it should be, is an error like others, but the last one.
func (s *Store) update(p *plan) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			s.broken = true
			err = fmt.Errorf("%w: %v", ErrBroken, r)
		}
	}()
	s.open.RLock()
	defer s.open.RUnlock()
	err = s.db.Update(func(tx *bbolt.Tx) error { return p.write(tx, s.cfg.Now()) })
	if err == nil && s.cfg.CommitDelay > 0 {
		time.Sleep(s.cfg.CommitDelay)
	}
	return err
}
