package health

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/health"
	"ulnet/health/boltstore"
)

// StoreName is the name of the file of records in the state directory.
const StoreName = "health.db"

// reopenAfter is the time between two attempts to open the records.
const reopenAfter = 2 * time.Second

// openStore opens the records of connections. It fails if they are of a newer version, because a
// program that does not know their clients should not be one of the servers. After other errors the
// server starts without records, so that it still takes over clients of other servers that die. It
// refuses new clients until the records can be opened; log and status say why.
func (h *roles) openStore() error {
	if !h.cfg.Records || h.m.Config.StateDir == "" {
		return nil
	}
	h.path = filepath.Join(h.m.Config.StateDir, StoreName)
	h.store = &lateStore{lost: h.missStore}
	err := h.tryStore()
	if errors.Is(err, boltstore.ErrVersion) {
		return cli.Hint(cli.ConfigError(err), "install the newer lnetd again; or move the file away, then clients connect again")
	}
	if err != nil {
		h.missStore(err)
	}
	return nil
}

// missStore logs that records cannot be stored, and starts the attempts to open the store.
func (h *roles) missStore(err error) {
	h.log.Error("connections cannot be recorded: no client is taken", slog.String("file", h.path), slog.Any("err", err),
		slog.String("hint", fmt.Sprintf("mend that: the file is opened again every %v", reopenAfter)))
	h.workers.Go(h.reopenStore)
}

// A recordStore is a store of records on a disk: a [boltstore.Store], or a replacement in tests.
type recordStore interface {
	health.Store
	Stats() boltstore.Stats
	Close() error
}

// openBolt opens the store of records at a path.
func openBolt(path string, log *slog.Logger) (recordStore, error) {
	store, err := boltstore.Open(boltstore.Config{Path: path, Log: log})
	if err != nil {
		return nil, err
	}
	return store, nil
}

// tryStore tries to open the store, and remembers the error.
func (h *roles) tryStore() error {
	err := os.MkdirAll(filepath.Dir(h.path), 0o755) // made at each attempt, since the disk may have been full before
	if err == nil {
		err = h.m.State.Hold() // the directory may be new
	}
	var store recordStore
	if err == nil {
		store, err = h.open(h.path, h.log)
	}
	h.store.set(store, err)
	if err != nil {
		return err
	}
	if s := store.Stats(); s.SetAside != "" {
		h.log.Error("the records of connections were damaged: clients connect again", slog.String("file", h.path),
			slog.String("set_aside", s.SetAside), slog.String("damage", s.Damage))
	}
	return nil
}

// reopenStore tries to open the store until that succeeds. It does not load the records, because
// by then their clients have other masters, as if the node had been down.
func (h *roles) reopenStore() {
	tick := time.NewTicker(reopenAfter)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-h.quit:
			return
		}
		if h.tryStore() == nil {
			h.log.Info("connections are recorded again: clients are taken", slog.String("file", h.path))
			return
		}
	}
}

// records returns the store of the server role, nil if records are not configured.
func (h *roles) records() health.Store {
	if h.store == nil {
		return nil
	}
	return h.store
}

// storeStatus returns the state of the records, nil if none are configured.
func (h *roles) storeStatus() *StoreStatus {
	if h.store == nil {
		return nil
	}
	s := &StoreStatus{Path: h.path}
	store, err := h.store.get()
	if store != nil {
		s.Stats = store.Stats()
	}
	if err != nil {
		s.Error = err.Error()
	}
	return s
}

// lateStore is a store that may be opened after the server has started. Until then Load returns
// nothing, and Save and Remove fail.
type lateStore struct {
	lost func(error) // called when an open store cannot be read and was closed for that reason

	mu      sync.Mutex
	store   recordStore // the open store; nil: it is not open; guarded by mu, like all below
	err     error       // why the store is not open
	fetched *fetched    // what the next Load returns; nil: nothing was fetched since the last Load
	closed  bool        // a store that is opened from now on is closed at once
}

// fetched are the records and tombstones of a store.
type fetched struct {
	records    []health.Record
	tombstones []health.Tombstone
}

// set keeps a store that was opened, or the error with which it could not be opened.
func (l *lateStore) set(store recordStore, err error) {
	l.mu.Lock()
	l.store, l.err = store, err
	closed := l.closed
	l.mu.Unlock()
	if closed && store != nil {
		_ = store.Close() // an error does not matter, because nothing was saved with this store
	}
}

func (l *lateStore) get() (recordStore, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.store, l.err
}

// fetch reads the records for the next Load, if the store is open and can be read. It may wait for the
// disk; Load does not, so that locks can be held around it. On a nil store fetch does nothing.
func (l *lateStore) fetch() {
	if l == nil {
		return
	}
	l.mu.Lock()
	store, has := l.store, l.fetched != nil
	l.mu.Unlock()
	if store == nil || has {
		return
	}
	records, tombstones, err := store.Load()
	if err != nil {
		err = errors.Join(err, store.Close())
		l.set(nil, err)
		l.lost(err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fetched = &fetched{records, tombstones}
}

// Load returns the records and tombstones that fetch has read.
func (l *lateStore) Load() ([]health.Record, []health.Tombstone, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.fetched
	if l.fetched = nil; f == nil {
		return nil, nil, nil
	}
	return f.records, f.tombstones, nil
}

// Save stores a record.
func (l *lateStore) Save(r health.Record, done func(error)) {
	if store, err := l.get(); store == nil {
		done(err)
	} else {
		store.Save(r, done)
	}
}

// Remove replaces a record by a tombstone.
func (l *lateStore) Remove(t health.Tombstone, done func(error)) {
	if store, err := l.get(); store == nil {
		done(err)
	} else {
		store.Remove(t, done)
	}
}

// end returns the store for the caller to close, or nil if it is not open. A store that is opened later
// is closed at once.
func (l *lateStore) end() recordStore {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return l.store
}
