package connstore

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
	metaBucket    = []byte("meta")
	clientsBucket = []byte("clients")
	gravesBucket  = []byte("tombstones")
	formatKey     = []byte("format")
)

// Errors of Open, beside those of the system.
var (
	ErrInUse   = errors.New("connstore: another process has the database open; is another lnetd running with this state directory?")
	ErrVersion = errors.New("connstore: the database is of a newer version: use that, or move the file away")
)

// Open opens the database, and makes it if there is none. A file that is damaged
// is renamed before; Stats says so. One that cannot be written is opened for
// reading: Load returns what is there, and every Save fails.
func Open(cfg Config) (*Store, error) {
	s := &Store{cfg: cfg.withDefaults(), wake: make(chan struct{}, 1), ended: make(chan struct{})}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	if err := s.openForWriting(); err != nil {
		if s.db == nil {
			return nil, err
		}
		s.stats.Error = s.readOnly.Error()
		s.cfg.Log.Error("connections of clients cannot be saved: new ones are refused", "path", s.cfg.Path, "err", s.readOnly)
	}
	s.stats.Records = len(s.places)
	go s.run()
	return s, nil
}

// prepare makes sure that there is a file which may be opened.
func (s *Store) prepare() error {
	_, err := os.Lstat(s.cfg.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return s.create()
	}
	if err != nil {
		return err
	}
	damage, err := s.check()
	if err != nil || damage == nil {
		return err
	}
	aside, err := setAside(s.cfg.Path, s.cfg.Now())
	if err != nil {
		return fmt.Errorf("%s is damaged (%w), and cannot be renamed: %w", s.cfg.Path, damage, err)
	}
	s.stats.SetAside, s.stats.Damage = aside, damage.Error()
	s.cfg.Log.Error("the saved connections of clients are damaged: they are set aside, and clients have to connect again",
		"path", s.cfg.Path, "aside", aside, "err", damage)
	return s.create()
}

// setAside renames a file to a name that tells when, and that nothing has.
func setAside(path string, now time.Time) (aside string, err error) {
	base := path + ".damaged-" + now.UTC().Format("20060102T150405Z")
	aside = base
	for i := 2; ; i++ {
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return "", err
		}
		aside = fmt.Sprintf("%s-%d", base, i)
	}
	if err := os.Rename(path, aside); err != nil {
		return "", err
	}
	return aside, syncDir(filepath.Dir(path))
}

// create makes an empty database, which gets its name when it is whole: an empty
// file under that name is damage.
func (s *Store) create() error {
	fresh := s.cfg.Path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	db, err := bbolt.Open(fresh, 0o600, s.options(false))
	if err != nil {
		return fmt.Errorf("make %s: %w", fresh, err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{metaBucket, clientsBucket, gravesBucket} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return tx.Bucket(metaBucket).Put(formatKey, append([]byte(magic), version))
	})
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("make %s: %w", fresh, err)
	}
	if err := os.Rename(fresh, s.cfg.Path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(s.cfg.Path))
}

func (s *Store) options(readOnly bool) *bbolt.Options {
	return &bbolt.Options{
		Timeout: s.cfg.LockTimeout, ReadOnly: readOnly, OpenFile: s.cfg.openFile,
		// Free pages are found when the file is opened, which costs less than to
		// write them with each commit.
		NoFreelistSync: true, FreelistType: bbolt.FreelistMapType,
		InitialMmapSize: 64 << 20, NoStatistics: true,
	}
}

// reopen opens the file, which has been checked or was written by this process,
// and finds out where the records are.
func (s *Store) reopen() error {
	db, err := bbolt.Open(s.cfg.Path, 0o600, s.options(s.readOnly != nil))
	if err != nil {
		return openError(err)
	}
	places := make(map[health.ClientID]uint64)
	next := uint64(1)
	err = db.View(func(tx *bbolt.Tx) error {
		return scan(tx, func(place uint64, r health.Record) error {
			places[r.Client] = place
			next = place + 1
			return nil
		}, nil)
	})
	if err != nil {
		return errors.Join(err, db.Close())
	}
	s.open.Lock()
	s.db = db
	s.open.Unlock()
	s.places, s.next = places, next
	return nil
}

// openError gives errors of bbolt our names.
func openError(err error) error {
	if errors.Is(err, bolterrors.ErrTimeout) {
		return ErrInUse
	}
	return err
}

// readOnlyError reports whether an error says that nothing can be written here.
func readOnlyError(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM)
}

// scan reads a database, records in the order of their places.
func scan(tx *bbolt.Tx, record func(uint64, health.Record) error, tombstone func(health.Tombstone)) error {
	meta, clients, graves := tx.Bucket(metaBucket), tx.Bucket(clientsBucket), tx.Bucket(gravesBucket)
	if meta == nil || clients == nil || graves == nil {
		return fmt.Errorf("%w: not a database of connections", errDamaged)
	}
	format := meta.Get(formatKey)
	switch {
	case len(format) != len(magic)+1 || !bytes.HasPrefix(format, []byte(magic)):
		return fmt.Errorf("%w: not a database of connections: format %q", errDamaged, format)
	case format[len(magic)] != version:
		return fmt.Errorf("%w: version %d, want %d", ErrVersion, format[len(magic)], version)
	}
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
		return nil
	})
	if err != nil || tombstone == nil {
		return err
	}
	return graves.ForEach(func(key, value []byte) error {
		t, err := parseGrave(key, value)
		if err != nil {
			return fmt.Errorf("tombstone %x: %w", key, err)
		}
		tombstone(t)
		return nil
	})
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
