package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"ulnet/health"
)

var (
	metaBucket       = []byte("meta")
	clientsBucket    = []byte("clients")
	tombstonesBucket = []byte("tombstones")
	epochsBucket     = []byte("epochs")
	formatKey        = []byte("format")
	countsKey        = []byte("tally")
	epochsKey        = []byte("epochs")
)

// Errors of Open, besides those of the operating system.
var (
	ErrInUse   = errors.New("boltstore: another process has the database open; is another lnetd running with this state directory?")
	ErrVersion = errors.New("boltstore: the database is of a newer version: use that, or move the file away")
)

// Open opens the database, and creates it if there is none. If the file is damaged, Open
// renames it and begins a new one; Stats shows that. A file that cannot be written is opened
// read-only: Load returns its content, and every Save fails.
func Open(cfg Config) (*Store, error) {
	s := &Store{cfg: cfg.withDefaults(), wake: make(chan struct{}, 1), ended: make(chan struct{})}
	if err := s.reopen(); err != nil {
		return nil, err
	}
	if s.readOnly != nil {
		s.stats.Error = s.readOnly.Error()
		s.cfg.Log.Error("connections of clients cannot be saved: new ones are refused", "path", s.cfg.Path, "err", s.readOnly)
	}
	s.stats.Records = len(s.keys)
	go s.run()
	return s, nil
}

// reopen checks the file and opens it. A file that cannot be written is opened read-only, and
// s.readOnly says why.
func (s *Store) reopen() error {
	began := time.Now()
	defer func() { s.resume = time.Now().Add(checkShare * time.Since(began)) }()
	s.release()
	if err := s.prepare(); err != nil {
		return err
	}
	s.readOnly = nil
	err := s.openFile(false)
	if err != nil && readOnlyError(err) {
		s.readOnly, s.tried = err, s.cfg.Now()
		if err := s.openFile(true); err != nil {
			return errors.Join(s.readOnly, err)
		}
		return nil
	}
	return err
}

// prepare makes sure that a file exists and is undamaged: it sets a damaged one aside, and
// creates one if there is none.
func (s *Store) prepare() error {
	_, err := os.Lstat(s.cfg.Path)
	if errors.Is(err, fs.ErrNotExist) {
		if s.was {
			s.lost("the file of saved connections is gone, and begins anew: clients have to connect again after a restart", "",
				errors.New("somebody has removed the file while it was in use"))
		}
		return s.create()
	}
	if err != nil {
		return err
	}
	damage, err := s.check()
	if err != nil || damage == nil {
		return err
	}
	aside, err := s.setAside()
	if err != nil {
		return fmt.Errorf("%s is damaged (%w), and cannot be renamed: %w", s.cfg.Path, damage, err)
	}
	s.lost("the saved connections of clients are damaged: they are set aside, and clients have to connect again", aside, damage)
	return s.create()
}

// lost logs that the records are lost, and the path to which the damaged file was renamed.
func (s *Store) lost(what, aside string, damage error) {
	s.was = false // otherwise, if no new file can be made, as on a full disk, the next attempt would report that the file was removed
	s.mu.Lock()
	s.stats.SetAside, s.stats.Damage = aside, damage.Error()
	s.mu.Unlock()
	s.cfg.Log.Error(what, "path", s.cfg.Path, "aside", aside, "err", damage)
}

// setAside renames the file to an unused name that contains the time.
func (s *Store) setAside() (aside string, err error) {
	base := s.cfg.Path + ".damaged-" + s.cfg.Now().UTC().Format("20060102T150405Z")
	aside = base
	for i := 2; ; i++ {
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return "", err
		}
		aside = fmt.Sprintf("%s-%d", base, i)
	}
	if err := os.Rename(s.cfg.Path, aside); err != nil {
		return "", err
	}
	return aside, s.cfg.syncDir(filepath.Dir(s.cfg.Path))
}

// create makes an empty database. The file gets its name only when it is complete, so that an
// empty file of that name counts as damaged.
func (s *Store) create() error {
	fresh := s.cfg.Path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	db, err := s.openBolt(fresh, false)
	if err != nil {
		return fmt.Errorf("make %s: %w", fresh, err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{metaBucket, clientsBucket, tombstonesBucket} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		if err := tx.Bucket(metaBucket).Put(formatKey, append([]byte(magic), version)); err != nil {
			return err
		}
		return tx.Bucket(metaBucket).Put(countsKey, appendCounts(nil, counts{commit: uint64(tx.ID())}))
	})
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("make %s: %w", fresh, err)
	}
	if err := os.Rename(fresh, s.cfg.Path); err != nil {
		return err
	}
	return s.cfg.syncDir(filepath.Dir(s.cfg.Path))
}

// openBolt opens a database, and keeps its file in s.file.
func (s *Store) openBolt(path string, readOnly bool) (*bbolt.DB, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout: s.cfg.LockTimeout, ReadOnly: readOnly, FreelistType: bbolt.FreelistMapType,
		// Files of earlier versions have no list of free pages. Open would write one, which
		// needs room on the disk.
		NoFreelistSync: true, InitialMmapSize: 64 << 20, NoStatistics: true,
		OpenFile: func(path string, flag int, mode os.FileMode) (f *os.File, err error) {
			f, err = s.cfg.openFile(path, flag, mode)
			s.file = f
			return f, err
		},
	})
	if err != nil {
		return nil, openError(err)
	}
	// From the next commit on bbolt writes the list. Without it, bbolt would read all pages after
	// a failed commit, in a goroutine of its own where a fault ends the process.
	db.NoFreelistSync = false
	return db, nil
}

// openFile opens the checked file, and reads the keys of all records.
func (s *Store) openFile(readOnly bool) error {
	keys := make(map[health.ClientID]uint64)
	next, tombstones, epochs := uint64(1), uint64(0), uint64(0)
	err := guard(func() (err error) {
		if s.db, err = s.openBolt(s.cfg.Path, readOnly); err != nil {
			return err
		}
		return s.db.View(func(tx *bbolt.Tx) error {
			if epochs, err = countEpochs(tx); err != nil {
				return err
			}
			return scan(tx, func(key uint64, r health.Record) error {
				keys[r.Client] = key
				next = key + 1
				return nil
			}, func(health.Tombstone) { tombstones++ })
		})
	})
	if err != nil {
		return errors.Join(err, s.giveUp(err))
	}
	s.keys, s.next, s.tombstones, s.epochs, s.was = keys, next, tombstones, epochs, true
	return nil
}

// openError translates errors of bbolt.
func openError(err error) error {
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return ErrInUse
	case errors.Is(err, bolterrors.ErrVersionMismatch): // not damage: metas has found the checksums of the meta pages correct
		return fmt.Errorf("%w: %w", ErrVersion, err)
	}
	return err
}

// readOnlyError reports whether an error means that the file cannot be written.
func readOnlyError(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM)
}

// newer returns ErrVersion if a database is of a newer version, whatever else is in it.
func newer(tx *bbolt.Tx) error {
	meta := tx.Bucket(metaBucket)
	if meta == nil {
		return nil
	}
	if v, ok := bytes.CutPrefix(meta.Get(formatKey), []byte(magic)); ok && len(v) > 0 && v[0] > version {
		return fmt.Errorf("%w: version %d, this program knows version %d", ErrVersion, v[0], version)
	}
	return nil
}

// scan reads and verifies a database. It calls record in the order of keys.
func scan(tx *bbolt.Tx, record func(uint64, health.Record) error, tombstone func(health.Tombstone)) error {
	if err := newer(tx); err != nil {
		return err
	}
	meta, clients, tombstones := tx.Bucket(metaBucket), tx.Bucket(clientsBucket), tx.Bucket(tombstonesBucket)
	if meta == nil || clients == nil || tombstones == nil {
		return fmt.Errorf("%w: not a database of connections", errDamaged)
	}
	if format := meta.Get(formatKey); !bytes.Equal(format, append([]byte(magic), version)) {
		return fmt.Errorf("%w: not a database of connections: format %q", errDamaged, format)
	}
	found := counts{commit: uint64(tx.ID())}
	err := clients.ForEach(func(key, value []byte) error {
		if len(key) != 8 {
			return fmt.Errorf("client %x: %w: key", key, errDamaged)
		}
		r, err := parseRecord(value)
		if err == nil {
			err = record(binary.BigEndian.Uint64(key), r)
		}
		if err != nil {
			return fmt.Errorf("client %x: %w", key, err)
		}
		found.clients++
		return nil
	})
	if err != nil {
		return err
	}
	epochs := tx.Bucket(epochsBucket)
	err = tombstones.ForEach(func(key, value []byte) error {
		t, err := parseTombstone(key, value)
		if epochs != nil && err == nil && epochs.Get(key) != nil {
			t.Epoch, err = parseEpoch(key, epochs.Get(key))
		}
		if err != nil {
			return fmt.Errorf("tombstone %x: %w", key, err)
		}
		tombstone(t)
		found.tombstones++
		return nil
	})
	if err != nil {
		return err
	}
	if err := found.compare(meta.Get(countsKey)); err != nil {
		return err
	}
	found.epochs, err = countEpochs(tx)
	return errors.Join(err, found.compareEpochs(meta.Get(epochsKey)))
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
