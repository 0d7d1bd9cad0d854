package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"ulnet/health"
	"ulnet/lnd/lndtest/effort"
)

// whole returns the bytes of an undamaged database with the given number of records and one tombstone.
func whole(t testing.TB, records int) []byte {
	t.Helper()
	path := dbPath(t)
	s := open(t, path)
	for i := range records {
		s.Save(record(i, 1), nil)
	}
	remove(t, s, health.Tombstone{Client: id(-1), Incarnation: 1, Until: time.Now().Add(time.Hour)})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return used(b)
}

// edited returns the database b after f has changed it with bbolt: bbolt's own check then finds no
// damage.
func edited(t testing.TB, b []byte, f func(*bbolt.Tx) error) []byte {
	t.Helper()
	path := dbPath(t)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(f), db.Close()); err != nil {
		t.Fatal(err)
	}
	if b, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDamage: a damaged file is renamed with its content unchanged, this is reported, and a new
// file takes its place.
func TestDamage(t *testing.T) {
	const records = 500
	sound := whole(t, records)
	first := []byte{0, 0, 0, 0, 0, 0, 0, 1}
	for name, damaged := range map[string][]byte{
		"empty":     {},
		"text":      []byte("this is no database at all"),
		"cut":       sound[:4*4096],
		"cut short": sound[:2*4096],
		"a bit of a record": func() []byte {
			// Free pages may hold copies of the record as well, and which page is in use
			// depends on how the saves were grouped into commits. So all copies are changed.
			return bytes.ReplaceAll(sound, []byte("host77"), []byte("iost77"))
		}(),
		"zeros":      make([]byte, len(sound)),
		"pages lost": append(bytes.Clone(sound[:2*4096]), make([]byte, len(sound)-2*4096)...),
		"other database": edited(t, sound, func(tx *bbolt.Tx) error {
			return tx.Bucket(metaBucket).Put(formatKey, []byte("something else"))
		}),
		"no buckets": edited(t, sound, func(tx *bbolt.Tx) error { return tx.DeleteBucket(clientsBucket) }),
		"twice": edited(t, sound, func(tx *bbolt.Tx) error {
			b := tx.Bucket(clientsBucket)
			return b.Put([]byte{1, 0, 0, 0, 0, 0, 0, 0}, bytes.Clone(b.Get(first)))
		}),
		"out of order": func() []byte { // each record is valid; only the order of their keys is wrong
			seventh := id(6)
			return bytes.ReplaceAll(sound, append([]byte{0, 0, 0, 0, 0, 0, 0, 7}, seventh[:]...), append([]byte{0, 0, 0, 0, 0, 0, 9, 9}, seventh[:]...))
		}(),
		"a record gone": edited(t, sound, func(tx *bbolt.Tx) error { // the tally still counts the record, as when damage hides one entry of a page
			tally := appendCounts(nil, counts{commit: uint64(tx.ID()), clients: records, tombstones: 1})
			return errors.Join(tx.Bucket(clientsBucket).Delete(first), tx.Bucket(metaBucket).Put(countsKey, tally))
		}),
		"a tombstone gone": edited(t, sound, func(tx *bbolt.Tx) error {
			return tx.Bucket(metaBucket).Put(countsKey, appendCounts(nil, counts{commit: uint64(tx.ID()), clients: records, tombstones: 2}))
		}),
		"an epoch gone": edited(t, sound, func(tx *bbolt.Tx) error {
			return tx.Bucket(metaBucket).Put(epochsKey, appendEpochs(nil, counts{commit: uint64(tx.ID()), epochs: 2}))
		}),
		"number of epochs": edited(t, sound, func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Put(epochsKey, make([]byte, epochsSize)) }),
		"bad epoch": edited(t, sound, func(tx *bbolt.Tx) error {
			key, _ := tx.Bucket(tombstonesBucket).Cursor().First()
			return tx.Bucket(epochsBucket).Put(key, make([]byte, epochSize))
		}),
		"tally": edited(t, sound, func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Put(countsKey, make([]byte, countsSize)) }),
		"latest meta page": func() []byte { // without the check bbolt would use the other meta page, that of the commit before
			b := bytes.Clone(sound)
			copy(b[pageHeader+4096:], bytes.Repeat([]byte{1}, metaSize))
			return b
		}(),
		"long key": edited(t, sound, func(tx *bbolt.Tx) error {
			b := tx.Bucket(clientsBucket)
			return b.Put(append([]byte{1}, first...), bytes.Clone(b.Get(first)))
		}),
		"bad tombstone": edited(t, sound, func(tx *bbolt.Tx) error {
			return tx.Bucket(tombstonesBucket).Put(make([]byte, tombstoneKey), make([]byte, tombstoneSize))
		}),
	} {
		t.Run(name, func(t *testing.T) {
			path := dbPath(t)
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			s := open(t, path)
			st := s.Stats()
			if kept, err := os.ReadFile(st.SetAside); err != nil || !bytes.Equal(kept, damaged) || st.Damage == "" {
				t.Fatalf("set aside as %q (%v) for %q", st.SetAside, err, st.Damage)
			}
			want(t, s, nil, nil)
			save(t, s, record(1, 1))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			want(t, open(t, path), []health.Record{record(1, 1)}, nil)
		})
	}
	path := dbPath(t)
	if err := os.WriteFile(path, sound, 0o600); err != nil {
		t.Fatal(err)
	}
	if s := open(t, path); s.Stats().Records != records || s.Stats().SetAside != "" {
		t.Errorf("the whole file: %+v", s.Stats())
	}
}

// TestEarlierVersion: the store opens a file to which an earlier version has written, one that
// stores no tally of its entries. If that version made the file, there is no tally; otherwise the
// tally is that of an earlier commit.
func TestEarlierVersion(t *testing.T) {
	const records = 3
	sound := whole(t, records)
	for name, file := range map[string][]byte{
		"made": edited(t, sound, func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Delete(countsKey) }),
		"written to": edited(t, sound, func(tx *bbolt.Tx) error {
			r := record(records, 1)
			b, err := appendRecord(nil, &r)
			return errors.Join(err, tx.Bucket(clientsBucket).Put([]byte{1, 0, 0, 0, 0, 0, 0, 0}, b))
		}),
	} {
		path := dbPath(t)
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, path)
		save(t, s, record(9, 1))
		n := s.Stats().Records
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if again := open(t, path).Stats(); again.SetAside != "" || again.Records != n || n <= records {
			t.Errorf("%s: %d records, and then %+v", name, n, again)
		}
	}
}

// TestDamageAtRandom: whatever bytes of the file are overwritten, the process does not crash,
// and it loads no record that was not saved.
func TestDamageAtRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("TestSweep damages less at a time")
	}
	sound := whole(t, 300)
	r := rand.New(rand.NewPCG(7, 7))
	rounds := effort.Of(0, 20, 200)
	path := dbPath(t)
	found := 0
	for round := range rounds {
		b := bytes.Clone(sound)
		at, n := r.IntN(64<<10), 1+r.IntN(3000) // bbolt does not use most of the file yet
		for i := at; i < min(at+n, len(b)); i++ {
			b[i] = byte(r.Uint32())
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(Config{Path: path})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		records, _, err := s.Load()
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if s.Stats().SetAside != "" {
			found++
			if len(records) != 0 {
				t.Fatalf("round %d: %d records in a new database", round, len(records))
			}
		}
		for _, got := range records { // the damage may be in an unused page, so records may be loaded; all of them must be right
			if n := int(got.Epoch); got.Client != id(n) || got.Name != fmt.Sprintf("host%d", n) {
				t.Fatalf("round %d: loaded %+v", round, got)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if found == 0 {
		t.Error("no damage was found")
	}
}

// TestSetAsideTwice: the second damaged file does not replace the first one.
func TestSetAsideTwice(t *testing.T) {
	path := dbPath(t)
	now := func(c *Config) { c.Now = func() time.Time { return time.Unix(1_700_000_000, 0) } }
	for i := range 3 {
		if err := os.WriteFile(path, []byte{byte(i)}, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := open(t, path, now).Close(); err != nil {
			t.Fatal(err)
		}
	}
	names, err := filepath.Glob(path + ".damaged-*")
	if err != nil || len(names) != 3 || filepath.Base(names[0]) != "connections.db.damaged-20231114T221320Z" {
		t.Errorf("%v, %v", names, err)
	}
}

// TestNotChecked: a file that cannot be checked is neither opened nor moved.
func TestNotChecked(t *testing.T) {
	sound := whole(t, 1)
	newer := edited(t, sound, func(tx *bbolt.Tx) error {
		return tx.Bucket(metaBucket).Put(formatKey, append([]byte(magic), version+1))
	})
	for name, c := range map[string]struct {
		file    []byte
		checker []string
		limit   time.Duration
		want    string
	}{
		"newer version":    {file: newer, want: "newer version"},
		"no program":       {file: sound, checker: []string{"/nonexistent/program"}, want: "cannot be checked"},
		"another program":  {file: sound, checker: []string{"/bin/sh", "-c", "exit 2", "sh"}, want: "cannot be checked"},
		"killed":           {file: sound, checker: []string{"/bin/sh", "-c", "echo '" + strings.TrimSpace(greeting) + "'; kill -9 $$", "sh"}, want: "cannot be checked"},
		"cannot read":      {file: sound, checker: []string{"/bin/sh", "-c", "echo '" + strings.TrimSpace(greeting) + "'; echo no such luck; exit 6", "sh"}, want: "no such luck"},
		"takes for ever":   {file: sound, checker: []string{"/bin/sh", "-c", "exec sleep 600", "sh"}, limit: 30 * time.Millisecond, want: "took longer"},
		"strange end code": {file: sound, checker: []string{"/bin/sh", "-c", "echo '" + strings.TrimSpace(greeting) + "'; exit 77", "sh"}, want: "cannot be checked"},
	} {
		t.Run(name, func(t *testing.T) {
			path := dbPath(t)
			if err := os.WriteFile(path, c.file, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(Config{Path: path, Checker: c.checker, CheckTimeout: c.limit})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, %v, want an error about %q", s, err, c.want)
			}
			if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, c.file) {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

// TestCheckCrashes: a check process that crashes counts as damage of the file.
func TestCheckCrashes(t *testing.T) {
	for _, end := range []string{"echo 'panic: page 7' >&2; exit 2", "kill -SEGV $$", "kill -BUS $$"} {
		path := dbPath(t)
		if err := os.WriteFile(path, []byte("anything"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, path, func(c *Config) {
			c.Checker = []string{"/bin/sh", "-c", "echo '" + strings.TrimSpace(greeting) + "'; " + end, "sh"}
		})
		if st := s.Stats(); st.SetAside == "" || !strings.Contains(st.Damage, "crashed") {
			t.Errorf("%s: %+v", end, st)
		}
	}
}

// TestChild: the exit codes of the check process, and that Child ignores other arguments.
func TestChild(t *testing.T) {
	path := dbPath(t)
	if err := os.WriteFile(path, whole(t, 3), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if code, asked := Child([]string{verb, path}, &out); code != exitSound || !asked || out.String() != greeting+"sound: 3 records, 1 tombstones\n" {
		t.Errorf("%d, %v, %q", code, asked, out.String())
	}
	if code, asked := Child([]string{verb, path + "/x"}, io.Discard); code != exitFailed || !asked {
		t.Errorf("no file: %d, %v", code, asked)
	}
	if code, asked := Child([]string{verb, filepath.Dir(path)}, io.Discard); code != exitFailed || !asked {
		t.Errorf("a directory: %d, %v", code, asked)
	}
	for _, args := range [][]string{nil, {verb}, {"start", path}, {verb, path, path}} {
		if _, asked := Child(args, io.Discard); asked {
			t.Errorf("%q is a check", args)
		}
	}
}

// TestCheckedWithoutProgram: records are checked although the file of the program has been
// removed, as during an update.
func TestCheckedWithoutProgram(t *testing.T) {
	path := dbPath(t)
	if err := os.WriteFile(path, whole(t, 3), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, self, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, workerVerb, path, "0")
	cmd.Env = append(os.Environ(), workerUnlinks+"=1")
	if said, err := cmd.CombinedOutput(); err != nil || string(said) != "open\n" {
		t.Errorf("%q, %v", said, err)
	}
}

// TestMainWithoutChild: the check process is the same program. If its main does not call Child
// and opens the database, Open fails and does not start another process.
func TestMainWithoutChild(t *testing.T) {
	path := dbPath(t)
	if err := os.WriteFile(path, whole(t, 3), 0o600); err != nil {
		t.Fatal(err)
	}
	args := os.Args
	defer func() { os.Args = args }()
	os.Args = []string{args[0], verb, path}
	if s, err := Open(Config{Path: path}); !errors.Is(err, errNoChild) {
		t.Errorf("%v, %v", s, err)
	}
}
