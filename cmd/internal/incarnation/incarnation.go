// Package incarnation numbers the lives of a node: each gets a number above
// those of all lives before, also when the clock was put back. The number is
// kept in a bbolt database in the state directory.
package incarnation

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

// File is the name of the database in the state directory.
const File = "incarnation.db"

// lockTimeout is how long another process may have the database open.
const lockTimeout = time.Second

var (
	bucket = []byte("incarnation")
	key    = []byte("last")
)

// Next returns the number of a life that begins now, and keeps it in dir: the
// wall clock in nanoseconds, or one more than the number before if that is not
// above it. With an error the number is the wall clock alone: good for as long
// as that is not put back.
func Next(dir string, now time.Time) (uint64, error) {
	wall := uint64(max(now.UnixNano(), 1))
	db, err := bbolt.Open(filepath.Join(dir, File), 0o600, &bbolt.Options{Timeout: lockTimeout})
	if err != nil {
		return wall, fmt.Errorf("open %s: %w", filepath.Join(dir, File), err)
	}
	next, err := advance(db, wall)
	if err = errors.Join(err, db.Close()); err != nil {
		return wall, fmt.Errorf("%s: %w", filepath.Join(dir, File), err)
	}
	return next, nil
}

// advance puts the next number in the place of the last one.
func advance(db *bbolt.DB, wall uint64) (next uint64, err error) {
	err = db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bucket)
		if err != nil {
			return err
		}
		next = wall
		if value := b.Get(key); value != nil {
			if len(value) != 8 {
				return fmt.Errorf("the last incarnation has %d bytes, want 8", len(value))
			}
			last := binary.BigEndian.Uint64(value)
			if last == math.MaxUint64 {
				return errors.New("there is no incarnation after the last one")
			}
			next = max(wall, last+1)
		}
		return b.Put(key, binary.BigEndian.AppendUint64(nil, next))
	})
	return next, err
}
