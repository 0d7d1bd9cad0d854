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

// Errors of a Store, beside those of the system. Each says that something was not
// saved.
var (
	ErrClosed = errors.New("boltstore: closed")
	ErrFull   = errors.New("boltstore: too much waits for the disk")
	ErrFault  = errors.New("boltstore: the file cannot be read, or has changed; it is checked before it is opened again")
)

// Config configures a Store. The zero value of a field means its default.
type Config struct {
	Path string // of the database; its directory exists
	// LockTimeout is how long another process may have the database open; 0
	// means a second.
	LockTimeout time.Duration
	// CheckTimeout is how long the check of the file may take; 0 means a minute
	// and as many seconds as the file has tens of megabytes.
	CheckTimeout time.Duration
	// Checker is the command that checks, to which the path is added; nil means
	// this program with [Verb].
	Checker []string
	// MaxWaiting is how many calls may wait for the disk; 0 means 131072.
	MaxWaiting int
	Now        func() time.Time // the wall clock, for tombstones; nil means time.Now
	Log        *slog.Logger     // nil discards

	// CommitDelay is added to each commit, as if the disk were slower: for
	// benchmarks.
	CommitDelay time.Duration

	// For tests.
	openFile func(string, int, os.FileMode) (*os.File, error)
	syncDir  func(string) error
	inspect  func(path string) (damage, err error) // nil: a child process does
	eager    bool                                  // a file that cannot be opened is tried again at once
}

func (c Config) withDefaults() Config {
	c.LockTimeout = cmp.Or(c.LockTimeout, time.Second)
	c.MaxWaiting = cmp.Or(c.MaxWaiting, 1<<17)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
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
	Records  int           `json:"records"` // clients that are saved now
	Saved    uint64        `json:"saved"`   // calls that ended well
	Failed   uint64        `json:"failed"`
	Commits  uint64        `json:"commits"`
	Waiting  int           `json:"waiting"`
	Slowest  time.Duration `json:"slowest_commit_ns"`
	Error    string        `json:"error,omitempty"`     // of the last commit; empty: it ended well
	SetAside string        `json:"set_aside,omitempty"` // the damaged file that this one took the key of
	Damage   string        `json:"damage,omitempty"`    // what was wrong with it
}

// Store is a database of connections. It has a goroutine until Close. All methods
// are safe for concurrent use.
type Store struct {
	cfg Config

	// Owned by the writer.
	db         *bbolt.DB                  // nil after a commit that failed, until the file is opened again
	file       *os.File                   // of db
	keys       map[health.ClientID]uint64 // where a client's record is
	next       uint64                     // the key of the next new client
	tombstones uint64                     // how many tombstones there are
	was        bool                       // the file was open
	failure    error                      // why it is not now
	resume     time.Time                  // until then it is not tried again
	readOnly   error                      // why nothing can be written
	tried      time.Time                  // when that was found out

	mu      sync.Mutex
	waiting []call // guarded by mu, like all below
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
	record    []byte // nil: remove it
	key       []byte // of a tombstone, or nil
	tombstone []byte
	void      uint64 // without the tombstones up to this incarnation
	err       error  // it cannot be saved
	done      func(error)
}

// Save implements health.Store: it adds a record, or replaces the client's. done,
// which may be nil, is called from the goroutine of the store, or before Save
// returns if the store is full or closed, and must not block. The errors are [ErrRecord], [ErrFull], [ErrClosed],
// [ErrFault] and those of the system, such as ENOSPC, EROFS and EIO.
func (s *Store) Save(r health.Record, done func(error)) {
	b, err := appendRecord(make([]byte, 0, 96+len(r.Name)+len(r.Export)), &r)
	s.enqueue(call{client: r.Client, record: b, err: err, done: done})
}

// Remove implements health.Store: it removes the client's record, if there is one,
// and adds a tombstone unless its Until is zero, or removes those up to that incarnation if
// it is over, which takes a look at all. done and errors are as in Save.
func (s *Store) Remove(t health.Tombstone, done func(error)) {
	c := call{client: t.Client, done: done}
	if !t.Until.IsZero() {
		c.key, c.tombstone, c.err = tombstone(&t)
		if c.err == nil && !t.Until.After(s.cfg.Now()) {
			c.key, c.tombstone, c.void = nil, nil, t.Incarnation
		}
	}
	s.enqueue(c)
}

func (s *Store) enqueue(c call) {
	if err := s.wait(c); err != nil && c.done != nil {
		c.done(err)
	}
}

// wait adds a call to those that wait for the writer.
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

// rouse has the writer look. The caller holds mu, so that wake is open.
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

// Load implements health.Store: it returns all that is there, tombstones that
// are over left out. Errors are those of Save, after which it can be called again.
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

// Close saves what waits, or fails it, and closes the database.
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
