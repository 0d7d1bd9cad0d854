package incarnation_test

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/incarnation"
	"ulnet/lnd/lndtest/spec"
)

// next calls Next, and returns the number and the text that was logged.
func next(dir string, now time.Time) (n uint64, said string) {
	var b bytes.Buffer
	n = incarnation.Next(dir, now, slog.New(slog.NewTextHandler(&b, nil)))
	return n, b.String()
}

// mustNext calls Next, and fails the test if anything is logged.
func mustNext(t *testing.T, dir string, now time.Time) uint64 {
	t.Helper()
	n, said := next(dir, now)
	if said != "" {
		t.Errorf("at %v: %s", now.UTC(), said)
	}
	return n
}

// wantSaid checks that a logged line has all words.
func wantSaid(t *testing.T, said string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(said, word) {
			t.Errorf("it does not say %q: %s", word, said)
		}
	}
}

// TestNext: numbers rise from incarnation to incarnation, whatever the clock does.
func TestNext(t *testing.T) {
	dir := t.TempDir()
	var last uint64
	for _, now := range []time.Time{
		time.Unix(1000, 0), time.Unix(1000, 0), time.Unix(1, 0), time.Unix(0, 0), time.Unix(-5, 0), time.Unix(2000, 7),
	} {
		n := mustNext(t, dir, now)
		if n <= last {
			t.Errorf("at %v: %d after %d", now.UTC(), n, last)
		}
		last = n
	}
	if want := uint64(2000_000_000_007); last != want {
		t.Errorf("%d, want the wall clock %d when it is ahead", last, want)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

// TestDamage: a file with any byte changed, truncated anywhere, or too long is set aside, and
// the number is taken from the clock. The next incarnation continues from that number.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, incarnation.File)
	mustNext(t, dir, time.Unix(5000, 0))
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := [][]byte{append(bytes.Clone(sound), 0), bytes.Repeat([]byte{0}, len(sound)), bytes.Repeat([]byte{255}, len(sound))}
	for i := range sound {
		damaged = append(damaged, sound[:i])
		for bit := range 8 {
			b := bytes.Clone(sound)
			b[i] ^= 1 << bit
			damaged = append(damaged, b)
		}
	}
	now := time.Unix(6000, 0)
	for _, b := range damaged {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		n, said := next(dir, now)
		if n != uint64(now.UnixNano()) {
			t.Errorf("%x: life %d, want the clock's number", b, n)
		}
		wantSaid(t, said, "level=WARN", "damaged", "set aside as "+path+".aside", "until the clock has caught up")
		if aside, err := os.ReadFile(path + ".aside"); err != nil || !bytes.Equal(aside, b) {
			t.Errorf("%x: set aside is %x, %v", b, aside, err)
		}
		if after := mustNext(t, dir, now); after != n+1 {
			t.Errorf("%x: life %d after %d", b, after, n)
		}
	}
}

// TestKeptDamage: CH-4: if any byte, or the length, of the file with a protocol's number is
// damaged, that is reported, and the file is set aside. The next number is stored again.
func TestKeptDamage(t *testing.T) {
	spec.Covers(t, "CH-4")
	dir := t.TempDir()
	if err := incarnation.Keep(dir, "zone", 7); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, incarnation.File+"-*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	sound, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * len(sound) {
		b := bytes.Clone(sound)
		switch at := i / 3; i % 3 {
		case 0:
			b[at] ^= 1 << (at % 8)
		case 1:
			b[at] = 0
		case 2:
			b = b[:at]
		}
		if bytes.Equal(b, sound) {
			continue
		}
		if err := os.WriteFile(files[0], b, 0o600); err != nil {
			t.Fatal(err)
		}
		if n, err := incarnation.Kept(dir, "zone"); n != 0 || err == nil || !strings.Contains(err.Error(), "set aside as "+files[0]+".aside") {
			t.Errorf("%x: %d, %v", b, n, err)
		}
		if err := incarnation.Keep(dir, "zone", 8); err != nil {
			t.Error(err)
		}
		if n, err := incarnation.Kept(dir, "zone"); n != 8 || err != nil {
			t.Errorf("after %x: %d, %v", b, n, err)
		}
	}
}

// TestDurable: a number is not used before the name of its file is synced. Otherwise the same
// number could be used again after a power failure.
func TestDurable(t *testing.T) {
	dir := t.TempDir()
	synced, failing := 0, error(nil)
	incarnation.WatchSync(t, func(of string, sync func(string) error) error {
		if names, err := filepath.Glob(filepath.Join(of, incarnation.File+"*")); of != dir || err != nil || len(names) < 1 || strings.HasSuffix(names[0], ".new") {
			t.Errorf("%s is synced, where there is %v: %v", of, names, err)
		}
		synced++
		return errors.Join(failing, sync(of))
	})
	mustNext(t, dir, time.Unix(7, 0))
	if err := incarnation.Keep(dir, "zone", 7); err != nil || synced != 2 {
		t.Errorf("%v; synced %d times, want 2", err, synced)
	}
	failing = errors.New("no luck")
	if _, said := next(dir, time.Unix(8, 0)); !strings.Contains(said, "is not kept") || !strings.Contains(said, "no luck") {
		t.Errorf("it says: %s", said)
	}
}

// TestEarlierVersion: the database of earlier versions is set aside without being opened,
// whatever it contains.
func TestEarlierVersion(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "incarnation.db")
	if err := os.WriteFile(old, nil, 0); err != nil { // mode 0, so that no process can open the file
		t.Fatal(err)
	}
	now := time.Unix(7, 0)
	n, said := next(dir, now)
	if n != uint64(now.UnixNano()) {
		t.Errorf("life %d, want the clock's number", n)
	}
	wantSaid(t, said, "level=INFO", "set aside unread", old+".aside")
	if after := mustNext(t, dir, now); after != n+1 {
		t.Errorf("life %d after %d", after, n)
	}
}

// TestFarAhead: a number far above the clock is used, since numbers must ascend. The log says
// what to do about it.
func TestFarAhead(t *testing.T) {
	dir := t.TempDir()
	ahead := mustNext(t, dir, time.Unix(1<<31, 0))
	n, said := next(dir, time.Unix(1000, 0))
	if n != ahead+1 {
		t.Errorf("life %d after %d", n, ahead)
	}
	wantSaid(t, said, "level=WARN", "far above its clock", "stop lnetd, remove the file, and start it again", "ahead=596")
	if n, said := next(dir, time.Unix(1<<31-3600, 0)); n != ahead+2 || said != "" {
		t.Errorf("an hour ahead: life %d, %s", n, said)
	}
}

// TestNoDirectory: if no number can be read or stored, the number is the time of the clock, and
// the log says so.
func TestNoDirectory(t *testing.T) {
	now := time.Unix(7, 0)
	taken := t.TempDir()
	for _, name := range []string{incarnation.File, incarnation.File + ".new"} {
		if err := os.MkdirAll(filepath.Join(taken, name, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, dir := range map[string]string{"no directory": filepath.Join(t.TempDir(), "nowhere"), "directories in the way": taken} {
		n, said := next(dir, now)
		if n != uint64(now.UnixNano()) {
			t.Errorf("%s: life %d, want the clock's number", name, n)
		}
		wantSaid(t, said, "level=WARN", "is not kept", "see --state-dir")
	}
}

// TestPipe: a pipe or a directory in the place of a file counts as damaged, and nothing waits for a pipe.
func TestPipe(t *testing.T) {
	spec.Covers(t, "CH-4")
	for name, make := range map[string]func(string) error{
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := incarnation.Keep(dir, "zone", 7); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(dir, incarnation.File+"-*"))
			if err != nil || len(files) != 1 || os.Remove(files[0]) != nil {
				t.Fatal(files, err)
			}
			for _, path := range []string{filepath.Join(dir, incarnation.File), files[0]} {
				if err := errors.Join(make(path), make(path+".new")); err != nil {
					t.Fatal(err)
				}
			}
			_, said := next(dir, time.Unix(7, 0))
			wantSaid(t, said, "level=WARN", "damaged", "set aside as")
			if _, err := incarnation.Kept(dir, "zone"); err == nil || !strings.Contains(err.Error(), "set aside as "+files[0]+".aside") {
				t.Errorf("%v", err)
			}
			if n := mustNext(t, dir, time.Unix(8, 0)); n != 8e9 {
				t.Errorf("the number after it is %d", n)
			}
			if err := incarnation.Keep(dir, "zone", 8); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestGreatest: no number can follow the greatest one, so a file with that number counts as
// damaged.
func TestGreatest(t *testing.T) {
	dir := t.TempDir()
	if err := incarnation.Keep(dir, "a", math.MaxUint64); err != nil {
		t.Fatal(err)
	}
	if n, err := incarnation.Kept(dir, "a"); n != 0 || err == nil || !strings.Contains(err.Error(), "after the greatest") {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := incarnation.Kept(dir, "a"); n != 0 || err != nil {
		t.Errorf("set aside: %d, %v", n, err)
	}
}
