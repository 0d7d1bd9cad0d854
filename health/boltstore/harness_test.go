package boltstore

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"ulnet/health"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnet/nid"
)

var (
	master = nid.MustParse("10.0.0.1@tcp")
	six    = nid.MustParse("fd88::7@tcp1")
)

func id(n int) (c health.ClientID) {
	binary.BigEndian.PutUint64(c[8:], uint64(n)*0x9E3779B97F4A7C15|1)
	binary.BigEndian.PutUint32(c[:], uint32(n)+1)
	return c
}

// record makes the record of client n in an incarnation.
func record(n int, incarnation uint64) health.Record {
	r := health.Record{
		Client: id(n), Incarnation: incarnation, Master: master, Epoch: uint32(n), Name: fmt.Sprintf("host%d", n),
		Peer: nid.ProcessID{NID: six, PID: nid.LustrePID},
	}
	if n%2 == 1 {
		r.Export = []byte{1, 2, byte(n)}
	}
	return r
}

func open(t testing.TB, path string, change ...func(*Config)) *Store {
	t.Helper()
	cfg := Config{Path: path}
	for _, f := range change {
		f(&cfg)
	}
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// notInShortRaces skips a test that starts many processes, if the run is short and under the race
// detector. Other tests run the same code of the store.
func notInShortRaces(t *testing.T) {
	t.Helper()
	if effort.Race && testing.Short() {
		t.Skip("starts many processes that are slow under the race detector; left out by -race -short")
	}
}

func dbPath(t testing.TB) string { return filepath.Join(t.TempDir(), "connections.db") }

// wait calls f with a callback for f's result, waits until that callback is called, and returns
// the result.
func wait(f func(done func(error))) error {
	c := make(chan error, 1)
	f(func(err error) { c <- err })
	return <-c
}

func save(t testing.TB, s *Store, records ...health.Record) {
	t.Helper()
	for _, r := range records {
		if err := wait(func(done func(error)) { s.Save(r, done) }); err != nil {
			t.Fatal(err)
		}
	}
}

func remove(t testing.TB, s *Store, tombstones ...health.Tombstone) {
	t.Helper()
	for _, g := range tombstones {
		if err := wait(func(done func(error)) { s.Remove(g, done) }); err != nil {
			t.Fatal(err)
		}
	}
}

// want compares the contents of the store with the expected records and tombstones, in any
// order.
func want(t testing.TB, s *Store, records []health.Record, tombstones []health.Tombstone) {
	t.Helper()
	gotRecords, gotTombstones, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	sorted := slices.Clone(records)
	for _, list := range [][]health.Record{sorted, gotRecords} {
		slices.SortFunc(list, func(a, b health.Record) int { return a.Client.Compare(b.Client) })
	}
	equal := gocmp.Comparer(func(a, b nid.NID) bool { return a == b })
	if diff := gocmp.Diff(sorted, gotRecords, equal); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	sortedTombstones := slices.Clone(tombstones)
	for _, list := range [][]health.Tombstone{sortedTombstones, gotTombstones} {
		slices.SortFunc(list, func(a, b health.Tombstone) int {
			return cmp.Or(a.Client.Compare(b.Client), cmp.Compare(a.Incarnation, b.Incarnation))
		})
	}
	if diff := gocmp.Diff(sortedTombstones, gotTombstones, gocmp.Comparer(time.Time.Equal)); diff != "" {
		t.Errorf("tombstones (-want +got):\n%s", diff)
	}
}
