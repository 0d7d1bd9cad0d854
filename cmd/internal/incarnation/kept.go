package incarnation

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// keptBucket has numbers of lives that others have, each by a name.
var keptBucket = []byte("kept")

// Kept returns the number that was last kept in dir under a name, 0 for none.
func Kept(dir, name string) (n uint64, err error) {
	err = with(dir, func(tx *bbolt.Tx) error {
		b := tx.Bucket(keptBucket)
		if b == nil {
			return nil
		}
		switch value := b.Get([]byte(name)); len(value) {
		case 0:
		case 8:
			n = binary.BigEndian.Uint64(value)
		default:
			return fmt.Errorf("the number kept for %s has %d bytes, want 8", name, len(value))
		}
		return nil
	})
	return n, err
}

// Keep keeps a number in dir under a name, unless a higher one is kept already.
func Keep(dir, name string, n uint64) error {
	return with(dir, func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(keptBucket)
		if err != nil {
			return err
		}
		if value := b.Get([]byte(name)); len(value) == 8 && binary.BigEndian.Uint64(value) >= n {
			return nil
		}
		return b.Put([]byte(name), binary.BigEndian.AppendUint64(nil, n))
	})
}

// with opens the database in dir for one transaction.
func with(dir string, f func(*bbolt.Tx) error) error {
	path := filepath.Join(dir, File)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockTimeout})
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	if err = errors.Join(db.Update(f), db.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
