package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/health"
)

// spoiled returns a store whose file the function spoil has damaged while it was open. It also returns
// the path of the file, its content before the damage, and the log of the store.
func spoiled(t *testing.T, spoil func(path string, size int64) error) (s *Store, path string, sound []byte, log *bytes.Buffer) {
	t.Helper()
	path, log = dbPath(t), new(bytes.Buffer)
	s = open(t, path, func(c *Config) { c.Log, c.eager = slog.New(slog.NewTextHandler(log, nil)), true })
	for i := range 300 {
		s.Save(record(i, 1), nil)
	}
	save(t, s, record(300, 1))
	sound, err := os.ReadFile(path)
	if err == nil {
		err = spoil(path, int64(len(sound)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, path, sound, log
}

// spoils damage a file that is open. A page that cannot be read raises SIGBUS, as an access
// behind the end of the file does: truncating the file simulates it.
var spoils = map[string]func(path string, size int64) error{
	"no pages":  func(path string, _ int64) error { return os.Truncate(path, 0) },
	"few pages": func(path string, _ int64) error { return os.Truncate(path, 3*4096) },
	"zeros":     func(path string, size int64) error { return overwrite(path, 0, make([]byte, size)) },
	"other pages": func(path string, _ int64) error {
		return overwrite(path, 2*4096, bytes.Repeat([]byte("damage.."), 32<<10))
	},
}

func overwrite(path string, at int64, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, at)
	return errors.Join(err, f.Close())
}

// TestFault: a file that becomes unreadable, or is overwritten, while it is open does not end
// the process. Load reports an error, and returns all records when the file is repaired.
func TestFault(t *testing.T) {
	for name, spoil := range spoils {
		t.Run(name, func(t *testing.T) {
			s, path, sound, log := spoiled(t, spoil)
			if records, _, err := s.Load(); err == nil {
				t.Fatalf("%d records, and no error", len(records))
			}
			if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "cannot be read now") {
				t.Errorf("it says: %s", log)
			}
			if err := os.WriteFile(path, sound, 0o600); err != nil {
				t.Fatal(err)
			}
			if records, _, err := s.Load(); err != nil || len(records) != 301 {
				t.Errorf("%d records, %v", len(records), err)
			}
			save(t, s, record(1000, 1))
			if st := s.Stats(); st.SetAside != "" || st.Error != "" || st.Records != 302 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// TestFaultOnSave: the save that finds the damage may fail, and the next one succeeds. Then
// either the damaged file has been set aside, which is reported, or the file still has all
// records.
func TestFaultOnSave(t *testing.T) {
	for name, spoil := range spoils {
		t.Run(name, func(t *testing.T) {
			s, path, _, log := spoiled(t, spoil)
			first := wait(func(done func(error)) { s.Save(record(5, 2), done) })
			save(t, s, record(1000, 1))
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			again := open(t, path)
			records, _, err := again.Load()
			if err != nil {
				t.Fatal(err)
			}
			st := s.Stats()
			if st.SetAside == "" {
				st = again.Stats() // Open found the damage when the store was opened again
			} else if !strings.Contains(log.String(), "damaged: they are set aside") {
				t.Errorf("it says: %s", log)
			}
			if _, err := os.Stat(st.SetAside); err != nil || st.Damage == "" {
				t.Errorf("%d records, %+v: %v; the first save: %v", len(records), st, err, first)
			}
		})
	}
}

// TestRemoved: the file of a store is removed while the store is open. The store notices that
// when it opens the file again.
func TestRemoved(t *testing.T) {
	s, _, _, log := spoiled(t, func(path string, _ int64) error { return errors.Join(os.Truncate(path, 0), os.Remove(path)) })
	_ = wait(func(done func(error)) { s.Save(record(1, 2), done) }) // the failure makes the store open the file again
	save(t, s, record(2, 2))
	if st := s.Stats(); !strings.Contains(st.Damage, "removed") || !strings.Contains(log.String(), "is gone, and begins anew") {
		t.Errorf("%+v: %s", st, log)
	}
	if records, _, err := s.Load(); err != nil || len(records) > 2 {
		t.Errorf("%d records, %v", len(records), err)
	}
}

// TestPause: a file that cannot be opened is not checked again at every call.
func TestPause(t *testing.T) {
	path, checks := dbPath(t), 0
	bad := errors.New("a bad day")
	s := open(t, path)
	save(t, s, record(1, 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, func(c *Config) {
		c.inspect = func(string) (damage, err error) {
			if checks++; checks == 1 {
				return nil, nil
			}
			<-time.After(10 * time.Millisecond)
			return nil, bad
		}
	})
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for time.Since(began) < 100*time.Millisecond {
		if err := wait(func(done func(error)) { s.Save(record(2, 1), done) }); err == nil {
			t.Fatal("saved")
		}
	}
	if most := 2 + int(time.Since(began)/(checkShare*10*time.Millisecond)); checks > most {
		t.Errorf("%d checks, want %d", checks, most)
	}
}

// TestDurable: the directory is synced before any record is saved, after a new database is made and
// after a damaged one is renamed. Without that the file could be missing after a power failure.
func TestDurable(t *testing.T) {
	path := dbPath(t)
	var synced []string // the files in the directory at the time of each sync
	watch := func(c *Config) {
		c.syncDir = func(dir string) error {
			names, err := filepath.Glob(dir + "/*")
			synced = append(synced, fmt.Sprint(len(names)))
			return errors.Join(err, syncDir(dir))
		}
	}
	if err := open(t, path, watch).Close(); err != nil || strings.Join(synced, " ") != "1" {
		t.Errorf("made: %v, synced with %v files, want 1", err, synced)
	}
	if err := os.WriteFile(path, []byte("damage"), 0o600); err != nil {
		t.Fatal(err)
	}
	synced = nil
	if err := open(t, path, watch).Close(); err != nil || strings.Join(synced, " ") != "1 2" {
		t.Errorf("set aside: %v, synced with %v files, want 1 2", err, synced)
	}
	failing := errors.New("no luck")
	if s, err := Open(Config{Path: dbPath(t), syncDir: func(string) error { return failing }}); !errors.Is(err, failing) {
		t.Errorf("%v, %v: the name is not synced, and nobody says so", s, err)
	}
}

// TestSetAsideOnFullDisk: a file is damaged while it is open, and set aside, or it is removed; then the disk has no
// room for a new one. The store logs what has happened once, however often it tries to make a new file, and its
// counters go on showing it.
func TestSetAsideOnFullDisk(t *testing.T) {
	for name, lose := range map[string]func(path string) error{
		"damaged": func(path string) error { return os.Truncate(path, 0) },
		"removed": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			path, log, full := dbPath(t), new(bytes.Buffer), false
			s := open(t, path, func(c *Config) {
				c.Log, c.eager = slog.New(slog.NewTextHandler(log, nil)), true
				c.openFile = func(path string, flag int, mode os.FileMode) (*os.File, error) {
					if full {
						return nil, &os.PathError{Op: "open", Path: path, Err: syscall.ENOSPC}
					}
					return os.OpenFile(path, flag, mode)
				}
			})
			save(t, s, record(1, 1))
			full = true
			if err := lose(path); err != nil {
				t.Fatal(err)
			}
			fails := func() {
				t.Helper()
				if err := wait(func(done func(error)) { s.Save(record(1, 2), done) }); err == nil {
					t.Error("saved")
				}
			}
			if err := s.release(); err != nil { // the writer is idle, and opens the file again for the next call
				t.Fatal(err)
			}
			fails()
			first := s.Stats()
			for range 3 {
				fails()
			}
			if now := s.Stats(); now.SetAside != first.SetAside || now.Damage != first.Damage || (now.SetAside == "") != (name == "removed") || now.Damage == "" {
				t.Errorf("set aside as %q for %q, and then as %q for %q", first.SetAside, first.Damage, now.SetAside, now.Damage)
			}
			if n := strings.Count(log.String(), "clients have to connect again"); n != 1 {
				t.Errorf("%d lines say it:\n%s", n, log)
			}
			full = false
			save(t, s, record(2, 1))
			want(t, s, []health.Record{record(2, 1)}, nil)
		})
	}
}

// TestMetaPagesAgain: after a commit that failed, the next one first writes the meta pages again: the kernel may have
// them in its cache only.
func TestMetaPagesAgain(t *testing.T) {
	path, spoiled := dbPath(t), false
	s := open(t, path, func(c *Config) {
		c.eager = true
		c.openFile = func(path string, flag int, mode os.FileMode) (*os.File, error) {
			if spoiled { // so that commits fail
				flag = os.O_RDONLY
			}
			return os.OpenFile(path, flag, mode)
		}
	})
	save(t, s, record(1, 1))
	spoiled = true
	if err := s.release(); err != nil { // the writer is idle, and opens the file again for the next call
		t.Fatal(err)
	}
	if err := wait(func(done func(error)) { s.Save(record(2, 1), done) }); err == nil {
		t.Fatal("saved")
	}
	if !s.unsynced {
		t.Error("the next commit would not write the meta pages")
	}
	spoiled = false
	before, err := os.ReadFile(path)
	old := time.Unix(1000, 0)
	if err = errors.Join(err, os.Chtimes(path, old, old)); err != nil {
		t.Fatal(err)
	}
	want(t, s, []health.Record{record(1, 1)}, nil) // has opened the file again
	if err := s.renewMetas(); err != nil || s.unsynced {
		t.Error(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(path); info.ModTime().Equal(old) || err != nil || !bytes.Equal(before, after) {
		t.Errorf("written at %v; the content is the same: %v, %v", info.ModTime(), bytes.Equal(before, after), err)
	}
	s.unsynced = true
	if save(t, s, record(2, 1)); s.unsynced {
		t.Error("the next commit has not written the meta pages")
	}
}
