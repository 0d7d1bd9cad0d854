package incarnation_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"ulnet/cmd/internal/incarnation"
)

// TestNext: numbers rise from life to life, whatever the clock does.
func TestNext(t *testing.T) {
	dir := t.TempDir()
	var last uint64
	for _, now := range []time.Time{
		time.Unix(1000, 0), time.Unix(1000, 0), time.Unix(1, 0), time.Unix(0, 0), time.Unix(-5, 0), time.Unix(2000, 7),
	} {
		n, err := incarnation.Next(dir, now)
		if err != nil {
			t.Fatal(err)
		}
		if n <= last {
			t.Errorf("at %v: %d after %d", now.UTC(), n, last)
		}
		last = n
	}
	if want := uint64(2000_000_000_007); last != want {
		t.Errorf("%d, want the wall clock %d when it is ahead", last, want)
	}
}

// TestWithoutDisk: where nothing can be kept the wall clock must do, and an
// error says so.
func TestWithoutDisk(t *testing.T) {
	now := time.Unix(7, 0)
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken")
	if err := os.Mkdir(broken, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, incarnation.File), []byte("this is no database at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	taken := t.TempDir()
	db, err := bbolt.Open(filepath.Join(taken, incarnation.File), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, dir := range map[string]string{
		"no directory": filepath.Join(dir, "nowhere"), "damaged": broken, "in use": taken,
	} {
		t.Run(name, func(t *testing.T) {
			n, err := incarnation.Next(dir, now)
			if err == nil || n != uint64(now.UnixNano()) {
				t.Errorf("got %d, %v, want the wall clock and an error", n, err)
			}
		})
	}
}

// TestLastNumber: after the greatest number there is none.
func TestLastNumber(t *testing.T) {
	dir := t.TempDir()
	put := func(value []byte) {
		db, err := bbolt.Open(filepath.Join(dir, incarnation.File), 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		err = db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("incarnation"))
			if err != nil {
				return err
			}
			return b.Put([]byte("last"), value)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, value := range [][]byte{{255, 255, 255, 255, 255, 255, 255, 255}, {1, 2, 3}} {
		put(value)
		if n, err := incarnation.Next(dir, time.Unix(9, 0)); err == nil {
			t.Errorf("after %v: %d without an error", value, n)
		}
	}
}
