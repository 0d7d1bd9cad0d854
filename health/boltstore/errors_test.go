package boltstore_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"ulnet/health"
	"ulnet/health/boltstore"
	"ulnet/lnet/nid"
)

func open(t *testing.T, cfg boltstore.Config) *boltstore.Store {
	t.Helper()
	s, err := boltstore.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func record(n int) health.Record {
	name := fmt.Sprint("host", n)
	return health.Record{
		Client: health.ClientIDOf(name), Incarnation: 1, Epoch: 1, Name: name, Master: nid.MustParse("10.0.0.1@tcp"),
		Peer: nid.ProcessID{NID: nid.MustParse("10.0.0.17@tcp"), PID: nid.LustrePID},
	}
}

// save saves a record, and waits until it is on disk or refused.
func save(s *boltstore.Store, r health.Record) error {
	c := make(chan error, 1)
	s.Save(r, func(err error) { c <- err })
	return <-c
}

// TestFull: a call is refused at once when too many calls wait for the disk.
func TestFull(t *testing.T) {
	s := open(t, boltstore.Config{Path: filepath.Join(t.TempDir(), "clients.db"), MaxWaiting: 10})
	gate, entered := make(chan struct{}), make(chan struct{})
	s.Save(record(0), func(error) { close(entered); <-gate }) // the writer is blocked in the callback
	<-entered
	last := make(chan error, 10)
	for i := range 10 {
		s.Save(record(1+i), func(err error) { last <- err })
	}
	if err := save(s, record(20)); !errors.Is(err, boltstore.ErrFull) {
		t.Errorf("the 11th: %v, want ErrFull", err)
	}
	if n := s.Stats().Waiting; n != 10 {
		t.Errorf("%d wait", n)
	}
	close(gate)
	for range 10 {
		if err := <-last; err != nil {
			t.Error(err)
		}
	}
	if err := save(s, record(30)); err != nil {
		t.Error(err)
	}
	if records, _, err := s.Load(); err != nil || len(records) != 12 {
		t.Errorf("%d records, %v", len(records), err)
	}
}

// TestInUse: Open gives up after a while if another process has the database open.
func TestInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clients.db")
	open(t, boltstore.Config{Path: path})
	if s, err := boltstore.Open(boltstore.Config{Path: path, LockTimeout: time.Millisecond}); !errors.Is(err, boltstore.ErrInUse) {
		t.Errorf("opened twice: %v, %v", s, err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// TestNewerVersion: a database of a newer version is refused, and left as it is.
func TestNewerVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clients.db")
	if err := open(t, boltstore.Config{Path: path}).Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const magic = "ulnet connections" // in the file, the byte after this text is the version
	for at := range file {
		if bytes.HasPrefix(file[at:], []byte(magic)) {
			file[at+len(magic)]++
		}
	}
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := boltstore.Open(boltstore.Config{Path: path}); !errors.Is(err, boltstore.ErrVersion) {
		t.Errorf("opened: %v, %v", s, err)
	}
	if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, file) {
		t.Errorf("the file has changed: %v", err)
	}
}

// TestNewerLayout: a newer database is refused, and not set aside as damaged, also if it has other
// buckets, a longer format, or other values.
func TestNewerLayout(t *testing.T) {
	for name, change := range map[string]func(*bbolt.Tx) error{
		"other buckets": func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte("clients")) },
		"two bytes": func(tx *bbolt.Tx) error {
			return tx.Bucket([]byte("meta")).Put([]byte("format"), []byte("ulnet connections\x02\x01"))
		},
		"values of another": func(tx *bbolt.Tx) error { return tx.Bucket([]byte("clients")).Put([]byte("k"), []byte("v")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "clients.db")
			if err := open(t, boltstore.Config{Path: path}).Close(); err != nil {
				t.Fatal(err)
			}
			db, err := bbolt.Open(path, 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			err = db.Update(func(tx *bbolt.Tx) error {
				return errors.Join(tx.Bucket([]byte("meta")).Put([]byte("format"), []byte("ulnet connections\x02")), change(tx))
			})
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			if s, err := boltstore.Open(boltstore.Config{Path: path}); !errors.Is(err, boltstore.ErrVersion) {
				t.Errorf("opened: %v, %v", s, err)
			}
			if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
				t.Errorf("files %v, %v", list, err)
			}
		})
	}
}

// TestNewerBolt: a database in a format of bbolt that this program does not know is refused, and not
// set aside as damaged.
func TestNewerBolt(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "clients.db")
	if err := open(t, boltstore.Config{Path: path}).Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := range 2 { // both meta pages: a header of 16 bytes, and 56 bytes before the checksum
		meta := file[page*os.Getpagesize()+16:]
		binary.NativeEndian.PutUint32(meta[4:], 3)
		sum := fnv.New64a()
		sum.Write(meta[:56])
		binary.NativeEndian.PutUint64(meta[56:], sum.Sum64())
	}
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := boltstore.Open(boltstore.Config{Path: path}); !errors.Is(err, boltstore.ErrVersion) {
		t.Errorf("opened: %v, %v", s, err)
	}
	if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, file) {
		t.Errorf("the file has changed: %v", err)
	}
}

// TestRefused: the store refuses an invalid record at once. After Close it refuses every
// record.
func TestRefused(t *testing.T) {
	s := open(t, boltstore.Config{Path: filepath.Join(t.TempDir(), "clients.db")})
	if err := save(s, health.Record{Name: "without a client"}); !errors.Is(err, boltstore.ErrRecord) {
		t.Errorf("a record without a client: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := save(s, record(7)); !errors.Is(err, boltstore.ErrClosed) {
		t.Errorf("saved after Close: %v", err)
	}
}
