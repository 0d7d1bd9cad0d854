package boltstore

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"time"

	"go.etcd.io/bbolt"

	"ulnet/health"
)

// Bounds of one commit, so that no commit takes long; further calls wait for the next one.
const (
	maxBatch      = 4096
	maxBatchBytes = 8 << 20
)

// run commits the queued calls until Close.
func (s *Store) run() {
	defer close(s.ended)
	// Commits are blocking system calls. With a thread of its own the writer does not block other
	// goroutines, and the child process of the crash test writes in only one thread.
	runtime.LockOSThread()
	for range s.wake {
		s.drain()
	}
	s.drain() // saves the calls that were queued before Close
}

func (s *Store) drain() {
	for {
		s.serveLoads()
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

// account counts a commit, and logs when commits begin to fail or to succeed again. A commit
// that wrote nothing, such as the removal of a record that does not exist, counts neither as a
// failure nor as a success.
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
	st.Records = len(s.keys)
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

// commit makes a batch of calls durable, in order, or fails for all of them. It reports whether
// it wrote to the file.
func (s *Store) commit(batch []call) (wrote bool, err error) {
	if err := s.ready(true); err != nil {
		return false, err
	}
	p := s.plan(batch)
	if p.empty() {
		return false, nil
	}
	err = guard(func() error { return s.update(&p) })
	if err == nil {
		p.apply(s)
		return true, nil
	}
	s.unsynced = true
	err = errors.Join(err, s.giveUp(err)) // the state of the file is unknown until it is opened again
	s.failure = fmt.Errorf("%s: %w", s.cfg.Path, err)
	return false, s.failure
}

// update writes a plan. After a panic the transaction stays open, and giveUp does not close it
// either, because a rollback would read the damaged file.
func (s *Store) update(p *plan) error {
	if s.unsynced {
		if err := s.renewMetas(); err != nil {
			return err
		}
	}
	tx, err := s.db.Begin(true)
	if err != nil {
		return err
	}
	if err := p.write(tx, s.cfg.Now()); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	time.Sleep(s.cfg.CommitDelay)
	return nil
}

const (
	// tryAgainAfter is the time between two attempts to write to a disk that was read-only.
	tryAgainAfter = 5 * time.Second
	// checkShare bounds the share of time that opening the file takes: after each attempt the store
	// pauses for at least checkShare times the duration of the attempt.
	checkShare = 20
)

// ready opens the file if it is not open.
func (s *Store) ready(toWrite bool) error {
	if s.db != nil && s.readOnly != nil && toWrite { // try again: the disk may have become writable
		if now := s.cfg.Now(); now.Sub(s.tried) < tryAgainAfter && !now.Before(s.tried) {
			return s.readOnly
		}
	} else if s.db != nil {
		return nil
	} else if s.failure != nil && !s.cfg.eager && time.Now().Before(s.resume) {
		return s.failure
	}
	if err := s.reopen(); err != nil {
		s.failure = fmt.Errorf("open %s again: %w", s.cfg.Path, err)
		return s.failure
	}
	if toWrite {
		return s.readOnly
	}
	return nil
}

// serveLoads answers waiting calls of Load.
func (s *Store) serveLoads() {
	s.mu.Lock()
	loads := s.loads
	s.loads = nil
	s.mu.Unlock()
	for _, l := range loads {
		l.records, l.tombstones, l.err = s.loadAll()
		close(l.done)
	}
}

func (s *Store) loadAll() (records []health.Record, tombstones []health.Tombstone, err error) {
	if err := s.ready(false); err != nil {
		return nil, nil, err
	}
	now := s.cfg.Now()
	err = guard(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			return scan(tx, func(_ uint64, r health.Record) error {
				records = append(records, r)
				return nil
			}, func(t health.Tombstone) {
				if t.Until.After(now) {
					tombstones = append(tombstones, t)
				}
			})
		})
	})
	if err == nil {
		return records, tombstones, nil
	}
	s.failure = fmt.Errorf("%s: %w", s.cfg.Path, errors.Join(err, s.giveUp(err)))
	s.cfg.Log.Error("the saved connections of clients cannot be read now", "path", s.cfg.Path, "err", s.failure)
	return nil, nil, s.failure
}
