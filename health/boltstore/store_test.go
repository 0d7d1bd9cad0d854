package boltstore

import (
	"bytes"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestStore: CH-4, CH-65: after a restart the store has the latest record and tombstone of each
// client.
func TestStore(t *testing.T) {
	spec.Covers(t, "CH-4", "CH-65")
	path := dbPath(t)
	later := time.Now().Add(time.Hour)
	s := open(t, path)
	want(t, s, nil, nil)
	changed := record(1, 5)
	changed.Epoch, changed.Name, changed.Export = 9, strings.Repeat("n", 255), make([]byte, maxExport)
	bare := health.Record{Client: id(4), Master: six, Peer: nid.ProcessID{NID: master}}
	save(t, s, record(0, 1), record(1, 1), record(2, 1), changed, bare)
	remove(t, s, health.Tombstone{Client: id(2), Incarnation: 1, Until: later}, health.Tombstone{Client: id(3)},
		health.Tombstone{Client: id(3), Incarnation: 1 << 63, Until: later}, health.Tombstone{Client: id(0)})
	save(t, s, record(0, 2))
	records := []health.Record{record(0, 2), changed, bare}
	tombstones := []health.Tombstone{{Client: id(2), Incarnation: 1, Until: later}, {Client: id(3), Incarnation: 1 << 63, Until: later}}
	want(t, s, records, tombstones)
	if st := s.Stats(); st.Records != 3 || st.Saved != 10 || st.Failed != 0 || st.Error != "" {
		t.Errorf("counters %+v", st)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}

	s = open(t, path)
	want(t, s, records, tombstones)
	if st := s.Stats(); st.Records != 3 || st.SetAside != "" {
		t.Errorf("counters %+v", st)
	}
	remove(t, s, health.Tombstone{Client: id(1)})
	save(t, s, record(2, 2))
	want(t, s, []health.Record{record(0, 2), bare, record(2, 2)}, tombstones)
}

// TestOrder: calls for one client take effect in the order in which they were made, even if
// they are in different commits. Their callbacks are called in that order.
func TestOrder(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	const calls, clients = 3000, 10
	r := rand.New(rand.NewPCG(1, 2))
	saved := make(map[int]uint64)
	var called []int
	for i := range calls {
		n := r.IntN(clients)
		done := func(err error) {
			if err != nil {
				t.Error(err)
			}
			called = append(called, i)
		}
		if r.IntN(3) == 0 {
			delete(saved, n)
			s.Remove(health.Tombstone{Client: id(n)}, done)
		} else {
			saved[n] = uint64(i)
			s.Save(record(n, uint64(i)), done)
		}
	}
	if err := s.Close(); err != nil { // returns after the last callback
		t.Fatal(err)
	}
	if len(called) != calls {
		t.Fatalf("%d callbacks, want %d", len(called), calls)
	}
	for i, n := range called {
		if i != n {
			t.Fatalf("callback %d came as number %d", n, i)
		}
	}
	if st := s.Stats(); st.Commits >= calls {
		t.Errorf("%d commits for %d calls", st.Commits, calls)
	}
	var records []health.Record
	for n, incarnation := range saved {
		records = append(records, record(n, incarnation))
	}
	want(t, open(t, path), records, nil)
}

// TestTombstonesEnd: expired tombstones are not returned, and make room for others.
func TestTombstonesEnd(t *testing.T) {
	path := dbPath(t)
	var mu sync.Mutex
	now := time.Unix(1_000_000, 0)
	clock := func(c *Config) {
		c.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
	}
	s := open(t, path, clock)
	const n = 100
	for i := range n {
		remove(t, s, health.Tombstone{Client: id(i), Incarnation: 1, Until: now.Add(time.Duration(i+1) * time.Minute)})
	}
	mu.Lock()
	now = now.Add(n / 2 * time.Minute)
	mu.Unlock()
	if _, tombstones, err := s.Load(); err != nil || len(tombstones) != n/2 {
		t.Errorf("%d tombstones are left, want %d: %v", len(tombstones), n/2, err)
	}
	until := now.Add(time.Hour)
	for i := range n / 2 {
		remove(t, s, health.Tombstone{Client: id(n + i), Incarnation: 1, Until: until})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, left, err := inspect(path); err != nil || left != n {
		t.Errorf("%d tombstones in the file, want %d: %v", left, n, err)
	}
}

// TestTombstonesTakenBack: CH-A8, CH-A20: Remove with a tombstone whose time has passed removes
// the stored tombstones of that incarnation and of all earlier ones, even those in the same
// commit. Tombstones of later incarnations and of other clients stay.
func TestTombstonesTakenBack(t *testing.T) {
	spec.Covers(t, "CH-A8", "CH-A20")
	path := dbPath(t)
	s := open(t, path)
	until := time.Now().Add(time.Hour)
	tombstone := func(n int, incarnation uint64) health.Tombstone {
		return health.Tombstone{Client: id(n), Incarnation: incarnation, Until: until.Add(time.Duration(incarnation))}
	}
	remove(t, s, tombstone(1, 5), tombstone(1, 6), tombstone(1, 7), tombstone(2, 5), tombstone(3, 5))
	void := func(n int, incarnation uint64) health.Tombstone {
		return health.Tombstone{Client: id(n), Incarnation: incarnation, Until: time.Unix(0, 1)}
	}
	var done sync.WaitGroup
	done.Add(5)
	for _, g := range []health.Tombstone{void(1, 6), tombstone(2, 6), void(2, 6), tombstone(2, 4), void(4, 9)} { // these calls may share one commit
		s.Remove(g, func(err error) {
			if err != nil {
				t.Error(err)
			}
			done.Done()
		})
	}
	done.Wait()
	want(t, s, nil, []health.Tombstone{tombstone(1, 7), tombstone(2, 4), tombstone(3, 5)})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, open(t, path), nil, []health.Tombstone{tombstone(1, 7), tombstone(2, 4), tombstone(3, 5)})
}

// TestRefused: an invalid record fails alone, without others of its commit.
func TestRefused(t *testing.T) {
	s := open(t, dbPath(t))
	var group sync.WaitGroup
	bad := func(change func(*health.Record)) {
		r := record(1, 1)
		change(&r)
		group.Add(1)
		s.Save(r, func(err error) {
			defer group.Done()
			if !errors.Is(err, ErrRecord) {
				t.Errorf("%+v was saved: %v", r, err)
			}
		})
	}
	s.Save(record(0, 1), nil)
	bad(func(r *health.Record) { r.Client = health.ClientID{} })
	bad(func(r *health.Record) { r.Master = nid.NID{} })
	bad(func(r *health.Record) { r.Peer.NID = nid.NID{} })
	bad(func(r *health.Record) { r.Name = strings.Repeat("x", 256) })
	bad(func(r *health.Record) { r.Export = make([]byte, maxExport+1) })
	group.Wait()
	for _, g := range []health.Tombstone{{Until: time.Now()}, {Client: id(1), Until: time.Unix(-1, 0)}} {
		if err := wait(func(done func(error)) { s.Remove(g, done) }); !errors.Is(err, ErrRecord) {
			t.Errorf("%+v was buried: %v", g, err)
		}
	}
	want(t, s, []health.Record{record(0, 1)}, nil)
	if st := s.Stats(); st.Failed != 7 || st.Saved != 1 {
		t.Errorf("counters %+v", st)
	}
}

// TestManyAtOnce: many goroutines can use a store at the same time.
func TestManyAtOnce(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	const callers, each = 8, 200
	var group sync.WaitGroup
	for c := range callers {
		group.Go(func() {
			for i := range each {
				if err := wait(func(done func(error)) { s.Save(record(c*each+i, 1), done) }); err != nil {
					t.Error(err)
				}
				if i%50 == 0 {
					if records, _, err := s.Load(); err != nil || len(records) <= i {
						t.Errorf("%d records after %d: %v", len(records), i, err)
					}
				}
			}
		})
	}
	group.Wait()
	if st := s.Stats(); st.Records != callers*each {
		t.Errorf("%d records", st.Records)
	}
}

// TestNowhere: Open fails if the directory does not exist.
func TestNowhere(t *testing.T) {
	if s, err := Open(Config{Path: "/nonexistent/connections.db"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, %v", s, err)
	}
}

// TestNothingToRemove: removing a client that has no record does not access the disk, and is
// not taken as evidence that the disk works.
func TestNothingToRemove(t *testing.T) {
	path := dbPath(t)
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s := open(t, path, func(c *Config) {
		c.Log, c.eager = slog.New(slog.NewTextHandler(&log, nil)), true
		c.openFile = func(name string, _ int, mode os.FileMode) (*os.File, error) {
			return os.OpenFile(name, os.O_RDONLY, mode)
		}
	})
	for i := range 3 {
		if err := wait(func(done func(error)) { s.Save(record(i, 1), done) }); err == nil {
			t.Fatal("saved without a disk")
		}
		if err := wait(func(done func(error)) { s.Remove(health.Tombstone{Client: id(9)}, done) }); err != nil {
			t.Error(err)
		}
		if s.Stats().Error == "" {
			t.Error("nothing is wrong any more")
		}
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "cannot be saved") {
		t.Error(text)
	}
}

// TestReadOnly: in a read-only directory the records can be loaded, and each save fails with
// the reason. A few seconds after the directory became writable connections are saved.
func TestReadOnly(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	save(t, s, record(0, 1), record(1, 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var writable atomic.Bool
	var clock atomic.Int64
	s = open(t, path, func(c *Config) {
		c.Now = func() time.Time { return time.Unix(clock.Load(), 0) }
		c.openFile = func(name string, flag int, mode os.FileMode) (*os.File, error) {
			if flag&(os.O_RDWR|os.O_WRONLY|os.O_CREATE) != 0 && !writable.Load() {
				return nil, &os.PathError{Op: "open", Path: name, Err: syscall.EROFS}
			}
			return os.OpenFile(name, flag, mode)
		}
	})
	for i := range 2 {
		if err := wait(func(done func(error)) { s.Save(record(2+i, 1), done) }); !errors.Is(err, syscall.EROFS) {
			t.Errorf("saved: %v", err)
		}
	}
	want(t, s, []health.Record{record(0, 1), record(1, 1)}, nil)
	if st := s.Stats(); st.Error == "" || st.Failed != 2 || st.Records != 2 {
		t.Errorf("counters %+v", st)
	}
	for _, later := range []struct {
		seconds  int64
		writable bool
		saved    bool
	}{{4, true, false}, {5, false, false}, {9, true, false}, {10, true, true}, {11, true, true}} {
		clock.Store(later.seconds)
		writable.Store(later.writable)
		err := wait(func(done func(error)) { s.Save(record(0, 2), done) })
		if later.saved != (err == nil) || err != nil && !errors.Is(err, syscall.EROFS) {
			t.Errorf("after %d s, writable %v: %v", later.seconds, later.writable, err)
		}
	}
	want(t, s, []health.Record{record(0, 2), record(1, 1)}, nil)
	if st := s.Stats(); st.Error != "" {
		t.Errorf("counters %+v", st)
	}
}
