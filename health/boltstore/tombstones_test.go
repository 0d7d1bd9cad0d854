package boltstore

import (
	"errors"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"ulnet/health"
	"ulnet/lnd/lndtest/spec"
)

// TestTombstonesGo: after very many evictions, their expired tombstones do not stay in the file for long, and a few
// commits remove them, although these add no tombstones themselves.
func TestTombstonesGo(t *testing.T) {
	spec.Covers(t, "CH-65")
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	s := open(t, dbPath(t), func(c *Config) { c.Now = func() time.Time { return now } })
	const buried = 20_000
	var done sync.WaitGroup
	for i := range buried {
		done.Add(1)
		s.Remove(health.Tombstone{Client: id(i), Incarnation: 1, Until: now.Add(10 * time.Minute)}, func(err error) {
			if err != nil {
				t.Error(err)
			}
			done.Done()
		})
	}
	if done.Wait(); s.tombstones != buried {
		t.Fatalf("%d tombstones", s.tombstones)
	}
	now = now.Add(11 * time.Minute)
	for i := range 10 {
		save(t, s, record(i, 1))
	}
	if s.tombstones > 0 {
		t.Errorf("%d expired tombstones are left after ten commits", s.tombstones)
	}
}

// TestEpochs: CH-A13: the epochs of tombstones are saved with them, and go with them. A file without epochs, of an
// earlier version, is read, and so is one in which an earlier version has removed tombstones and left their epochs.
func TestEpochs(t *testing.T) {
	spec.Covers(t, "CH-A13")
	path := dbPath(t)
	var mu sync.Mutex
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func(c *Config) {
		c.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
	}
	tombstone := func(n int, epoch uint32) health.Tombstone {
		return health.Tombstone{Client: id(n), Incarnation: 5, Epoch: epoch, Until: now.Add(time.Duration(10+n) * time.Minute)}
	}
	all := []health.Tombstone{tombstone(0, 1), tombstone(1, 0), tombstone(2, 1<<24-1), tombstone(3, 7)}
	s := open(t, path, clock)
	remove(t, s, all...)
	want(t, s, nil, all)
	remove(t, s, health.Tombstone{Client: id(3), Incarnation: 5, Until: time.Unix(0, 1)})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s = open(t, path, clock); s.epochs != 2 {
		t.Errorf("%d epochs are left after a withdrawal", s.epochs)
	}
	want(t, s, nil, all[:3])
	mu.Lock()
	now = now.Add(11 * time.Minute)
	mu.Unlock()
	if save(t, s, record(1, 1)); s.epochs != 1 || s.tombstones != 1 {
		t.Errorf("%d epochs and %d tombstones are left when two have expired", s.epochs, s.tombstones)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	changed(t, path, func(tx *bbolt.Tx) error { // an earlier version removes the last tombstones
		tombstones := tx.Bucket(tombstonesBucket)
		for key, _ := tombstones.Cursor().First(); key != nil; key, _ = tombstones.Cursor().First() {
			if err := tombstones.Delete(key); err != nil {
				return err
			}
		}
		return tx.Bucket(metaBucket).Put(countsKey, appendCounts(nil, counts{commit: uint64(tx.ID()), clients: 1}))
	})
	s = open(t, path, clock)
	want(t, s, []health.Record{record(1, 1)}, nil)
	mu.Lock()
	now = now.Add(time.Hour)
	mu.Unlock()
	if save(t, s, record(2, 1)); s.epochs != 0 {
		t.Errorf("%d epochs without tombstones are left", s.epochs)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	changed(t, path, func(tx *bbolt.Tx) error { // the file as an earlier version makes it
		return errors.Join(tx.DeleteBucket(epochsBucket), tx.Bucket(metaBucket).Delete(epochsKey),
			tx.Bucket(metaBucket).Put(countsKey, appendCounts(nil, counts{commit: uint64(tx.ID()), clients: 2})))
	})
	s = open(t, path, clock)
	if damage := s.Stats().Damage; damage != "" {
		t.Errorf("a file without epochs: %s", damage)
	}
	last := health.Tombstone{Client: id(9), Incarnation: 1, Epoch: 3, Until: now.Add(time.Hour)}
	remove(t, s, last)
	want(t, s, []health.Record{record(1, 1), record(2, 1)}, []health.Tombstone{last})
}

// changed changes a database that is not open, as another program does.
func changed(t *testing.T, path string, f func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err == nil {
		err = errors.Join(db.Update(f), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}
