// Package incarnation numbers the lives of a node: each gets a number above
// those of all lives before, also when the clock was put back. The number is
// kept in a bbolt database in the state directory, and beside it numbers that
// protocols took by themselves, and must begin above.
package incarnation

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
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
	var next uint64
	err := with(dir, func(tx *bbolt.Tx) (err error) {
		next, err = advance(tx, wall)
		return err
	})
	if err != nil {
		return wall, err
	}
	return next, nil
}

// advance puts the next number in the place of the last one.
func advance(tx *bbolt.Tx, wall uint64) (next uint64, err error) {
	b, err := tx.CreateBucketIfNotExists(bucket)
	if err != nil {
		return 0, err
	}
	next = wall
	if value := b.Get(key); value != nil {
		if len(value) != 8 {
			return 0, fmt.Errorf("the last incarnation has %d bytes, want 8", len(value))
		}
		last := binary.BigEndian.Uint64(value)
		if last == math.MaxUint64 {
			return 0, errors.New("there is no incarnation after the last one")
		}
		next = max(wall, last+1)
	}
	return next, b.Put(key, binary.BigEndian.AppendUint64(nil, next))
}
