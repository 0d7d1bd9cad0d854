package boltstore

import (
	"cmp"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"ulnet/health"
)

// Errors of a Store, in addition to those of the system. Each means that a change was not
// saved.
var (
	ErrClosed = errors.New("boltstore: closed")
	ErrFull   = errors.New("boltstore: too much waits for the disk")
	ErrFault  = errors.New("boltstore: the file cannot be read, or has changed; it is checked before it is opened again")
)

// Config configures a Store. The zero value of a field means its default.
type Config struct {
	Path string // path of the database, whose directory must exist
	// LockTimeout is how long Open waits for another process that has the database open; 0
	// means a second.
	LockTimeout time.Duration
	// CheckTimeout bounds the check of the file; 0 means a minute, and another second for
	// each 10 MiB.
	CheckTimeout time.Duration
	// Checker is the command that checks a file; the path is appended. nil means this program
	// with "boltstore-check".
	Checker []string
	// MaxWaiting is how many calls may wait for the disk; 0 means 131072.
	MaxWaiting int
	Now        func() time.Time // the wall clock, for tombstones; nil means time.Now
	Log        *slog.Logger     // nil: nothing is logged

	// CommitDelay makes each commit take longer, as on a slower disk, for benchmarks.
	CommitDelay time.Duration

	// The fields below are for tests.
	openFile func(string, int, os.FileMode) (*os.File, error)
	syncDir  func(string) error
	inspect  func(path string) (damage, err error) // checks the file; nil: a child process does
	eager    bool                                  // for tests: no pause between attempts to open the file
}

func (c Config) withDefaults() Config {
	c.LockTimeout = cmp.Or(c.LockTimeout, time.Second)
	c.MaxWaiting = cmp.Or(c.MaxWaiting, 1<<17)
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.openFile == nil {
		c.openFile = os.OpenFile
	}
	if c.syncDir == nil {
		c.syncDir = syncDir
	}
	return c
}

// Stats are the counters of a Store.
type Stats struct {
	Records  int           `json:"records"`             // number of clients whose records are saved now
	Saved    uint64        `json:"saved"`               // number of calls of Save and Remove that succeeded
	Failed   uint64        `json:"failed"`              // number of calls of Save and Remove that failed
	Commits  uint64        `json:"commits"`             // number of commits, including those that failed
	Waiting  int           `json:"waiting"`             // number of calls that wait for a commit
	Slowest  time.Duration `json:"slowest_commit_ns"`   // duration of the longest commit so far, in nanoseconds
	Error    string        `json:"error,omitempty"`     // error of the last commit; empty: the commit succeeded
	SetAside string        `json:"set_aside,omitempty"` // path of the damaged file that was renamed
	Damage   string        `json:"damage,omitempty"`    // what was wrong with that file
}

// Store is a database of connections. It has one goroutine, the writer, until Close. All
// methods are safe for concurrent use.
type Store struct {
	cfg Config

	// The fields from here to tried are owned by the writer.
	db         *bbolt.DB                  // nil after a commit that failed, until the file is opened again
	file       *os.File                   // the open file of db
	keys       map[health.ClientID]uint64 // key of each client's record
	next       uint64                     // the key of the next new client
	tombstones uint64                     // number of tombstones
	epochs     uint64                     // number of epochs of tombstones
	was        bool                       // the file was opened, and lost has not been called since: if the file is missing, it was removed
	unsynced   bool                       // a commit has failed, and renewMetas has not succeeded since
	failure    error                      // why the file is not open now
	resume     time.Time                  // earliest time of the next attempt to open the file
	readOnly   error                      // why the file cannot be written
	tried      time.Time                  // when opening for writing was last tried

	mu      sync.Mutex
	waiting []call // calls for the next commit; guarded by mu, like all below
	loads   []*load
	closed  bool
	stats   Stats
	wake    chan struct{}
	ended   chan struct{}
}

var _ health.Store = (*Store)(nil)

// call is one call of Save or Remove.
type call struct {
	client    health.ClientID
	record    []byte // the record to save; nil: remove the record
	key       []byte // key of the tombstone to save; nil: none
	tombstone []byte
	epoch     []byte // epoch of the tombstone; nil: none
	void      uint64 // highest incarnation of which tombstones are removed; 0: none
	err       error  // why the change cannot be saved
	done      func(error)
}

// Save implements health.Store: it adds the record of a client, or replaces the client's earlier
// one. done, which may be nil and must not block, is called from the goroutine of the store, or
// before Save returns if the store is full or closed. Errors are [ErrRecord], [ErrFull],
// [ErrClosed], [ErrFault] and those of the system, such as ENOSPC, EROFS and EIO.
func (s *Store) Save(r health.Record, done func(error)) {
	b, err := appendRecord(make([]byte, 0, 96+len(r.Name)+len(r.Export)), &r)
	s.enqueue(call{client: r.Client, record: b, err: err, done: done})
}

// Remove implements health.Store: it removes the client's record, if there is one, and adds the
// tombstone t if t.Until is in the future. If t.Until has passed, Remove removes the client's
// tombstones up to t.Incarnation, for which it scans all tombstones. done and errors are as for
// Save.
func (s *Store) Remove(t health.Tombstone, done func(error)) {
	c := call{client: t.Client, done: done}
	if !t.Until.IsZero() {
		c.key, c.tombstone, c.err = tombstone(&t)
		switch {
		case c.err != nil:
		case !t.Until.After(s.cfg.Now()):
			c.key, c.tombstone, c.void = nil, nil, t.Incarnation
		case t.Epoch != 0:
			c.epoch = appendEpoch(nil, c.key, t.Epoch)
		}
	}
	s.enqueue(c)
}

func (s *Store) enqueue(c call) {
	if err := s.wait(c); err != nil && c.done != nil {
		c.done(err)
	}
}

// wait queues a call for the writer.
func (s *Store) wait(c call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		s.stats.Failed++
		return ErrClosed
	case len(s.waiting) >= s.cfg.MaxWaiting:
		s.stats.Failed++
		return ErrFull
	}
	s.waiting = append(s.waiting, c)
	s.rouse()
	return nil
}

// rouse wakes the writer. The caller holds mu, so that the channel wake is not closed.
func (s *Store) rouse() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// load is one call of Load.
type load struct {
	records    []health.Record
	tombstones []health.Tombstone
	err        error
	done       chan struct{}
}

// Load implements health.Store: it returns all records, and the tombstones that have not
// expired. Errors are those of Save; after an error Load can be called again.
func (s *Store) Load() (records []health.Record, tombstones []health.Tombstone, err error) {
	l := &load{done: make(chan struct{})}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, nil, ErrClosed
	}
	s.loads = append(s.loads, l)
	s.rouse()
	s.mu.Unlock()
	<-l.done
	return l.records, l.tombstones, l.err
}

// Stats returns the counters.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Waiting = len(s.waiting)
	return st
}

// Close waits for the calls that are queued, and closes the database.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.wake)
	s.mu.Unlock()
	<-s.ended
	return s.release()
}
