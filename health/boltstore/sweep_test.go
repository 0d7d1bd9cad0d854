package boltstore

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"ulnet/health"
)

// The sweeper is a process that damages a file in one numbered way after the other, starting
// with a given number. For each damage it prints a line with the result:
//
//	N             the damage with this number begins
//	sound         the check has found no damage
//	damaged       the check has found damage, and the file would be set aside
//	refused       the file cannot be used, which is an error
//	whole         all records are there; for some files this also holds after more
//	              records were saved and the file was opened again
//	lost WHY      records are missing, or an error occurred
const (
	sweeperVerb = "boltstore-sweeper"

	sweptRecords    = 70 // records in the database, enough for several pages
	sweptTombstones = 20
	sweptAtOnce     = 1000 // damages per process; bounded, because each damaged file stays open
)

// damage is one change that the test makes to a file in order to damage it.
type damage struct {
	at   int
	kind byte // what happens at this position: 'f' a bit is flipped, 'z' a byte becomes zero, 'c' the file is cut off
}

func (d damage) String() string { return fmt.Sprintf("%c%d", d.kind, d.at) }

// apply returns a damaged copy of an undamaged file, and false if the copy is unchanged.
func (d damage) apply(sound []byte) ([]byte, bool) {
	if d.kind == 'c' {
		return sound[:d.at], d.at < len(sound)
	}
	b := bytes.Clone(sound)
	if b[d.at] = 0; d.kind == 'f' {
		b[d.at] = sound[d.at] ^ 1<<(d.at%8)
	}
	return b, b[d.at] != sound[d.at]
}

// sweep lists the damages to try. By default they cover some bytes of what bbolt reads first and
// a few others. In a long run they cover the head of every page and more of the other bytes.
// With ULNET_LONG=sweep, which takes an hour, they cover each byte of the first pages and a
// fifth of the others.
func sweep(size int, long string) (all []damage) {
	stride, cut, heads, whole := 397, 4093, 2*4096, 0
	switch long {
	case "":
	case "sweep":
		stride, cut, heads, whole = 5, 61, size, 4*4096
	default:
		stride, cut, heads = 97, 997, size
	}
	for at := range size {
		head := at%4096 < pageHeader+metaSize && at < heads
		if at < whole || head && (whole > 0 || at%3 == 0) || at%stride == 0 {
			all = append(all, damage{at, 'f'}, damage{at, 'z'})
		}
		if at%cut == 0 || at%4096 == 0 {
			all = append(all, damage{at, 'c'})
		}
	}
	return all
}

// sweeper is the main function of the sweeper process.
func sweeper(path, from, long string, out io.Writer) int {
	debug.SetMaxStack(maxStack)
	go boundMemory(16<<20, nil)
	sound, err := os.ReadFile(path)
	first, bad := strconv.Atoi(from)
	if err = errors.Join(err, bad); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for i, d := range sweep(len(sound), long) {
		b, changed := d.apply(sound)
		switch {
		case i < first || !changed:
			continue
		case i >= first+sweptAtOnce:
			return 0
		}
		fmt.Fprintln(out, i)
		spot := fmt.Sprintf("%s-%d", path, i)
		if err := os.WriteFile(spot, b, 0o600); err != nil {
			fmt.Fprintln(out, "lost", err)
			continue
		}
		sweepOne(spot, i%32 == 0, out)
		os.Remove(spot)
	}
	return 0
}

// sweepOne opens and checks a file as Open does, loads its records, and, if write is set, also
// saves some.
func sweepOne(path string, write bool, out io.Writer) {
	records, tombstones, err := inspect(path)
	switch {
	case errors.Is(err, ErrVersion), isSystemError(err):
		fmt.Fprintln(out, "refused")
		return
	case err != nil:
		fmt.Fprintln(out, "damaged")
		return
	}
	fmt.Fprintln(out, "sound")
	if records != sweptRecords || tombstones != sweptTombstones {
		err = fmt.Errorf("%d records and %d tombstones, want %d and %d", records, tombstones, sweptRecords, sweptTombstones)
	}
	if write && err == nil {
		err = reuseTwice(path)
	}
	if err != nil {
		fmt.Fprintln(out, "lost", err)
		return
	}
	fmt.Fprintln(out, "whole")
}

// reuseTwice opens and uses a database twice, and checks that the second time finds all records.
func reuseTwice(path string) error {
	left, err := reuse(path, sweptRecords)
	if err != nil {
		return err
	}
	if _, _, err := inspect(path); err != nil {
		return err
	}
	_, err = reuse(path, left)
	return err
}

// reuse opens a database, loads its records, and saves some more. It returns how many records
// the database has then.
func reuse(path string, records int) (now int, err error) {
	s, err := Open(Config{Path: path, inspect: func(string) (damage, err error) { return nil, nil }})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	all, tombstones, err := s.Load()
	if err != nil {
		return 0, err
	}
	for i := range all {
		want := record(int(all[i].Epoch), 1)
		a, _ := appendRecord(nil, &all[i])
		b, _ := appendRecord(nil, &want)
		if !bytes.Equal(a, b) {
			return 0, fmt.Errorf("%+v is there, want %+v", all[i], want)
		}
	}
	if len(all) != records || len(tombstones) != sweptTombstones {
		return 0, fmt.Errorf("%d records and %d tombstones are there, want %d and %d", len(all), len(tombstones), records, sweptTombstones)
	}
	epochs := uint32(0)
	for _, g := range tombstones {
		epochs += g.Epoch
	}
	if epochs != sweptTombstones*(sweptTombstones-1)/2 {
		return 0, fmt.Errorf("the epochs of tombstones are not those that were saved: %+v", tombstones)
	}
	for i := range 30 {
		s.Save(record(records+i, 1), nil)
	}
	return records + 30, wait(func(done func(error)) { s.Remove(health.Tombstone{Client: id(-99)}, done) })
}

// swept makes a database like one that has been in use for some time, with pages of each kind,
// free pages included.
func swept(t *testing.T) (path string, size int) {
	t.Helper()
	path = dbPath(t)
	s := open(t, path)
	for round := range 3 {
		for i := range sweptRecords {
			s.Save(record(i, uint64(round+1)), nil)
		}
		remove(t, s, health.Tombstone{Client: id(-1)})
	}
	for i := range sweptRecords {
		s.Save(record(i, 1), nil)
	}
	for i := range sweptTombstones {
		remove(t, s, health.Tombstone{Client: id(-2 - i), Incarnation: 1, Until: time.Unix(1<<33, 0), Epoch: uint32(i)})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b = used(b)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, len(b)
}

// used returns the part of a file that bbolt has used. bbolt makes files larger than it needs.
func used(b []byte) []byte {
	b = bytes.TrimRight(b, "\x00")
	return append(b, make([]byte, -len(b)&4095)...)
}

// TestSweep: each damage of a file is either found or has no effect. No record is lost without a
// report, and no process crashes except the check. A damage changes one byte, or truncates the file.
// The level of effort decides how many bytes are tried. Short: every third byte of the heads of the
// first two pages, and one byte in 397 of the rest. Long: every third byte of the heads of all pages,
// and one in 97. With ULNET_LONG=sweep: each byte of the first four pages and of all heads, and one in
// 5. The file is truncated at the beginning of each page, and at one offset in 4093, 997 or 61.
func TestSweep(t *testing.T) {
	notInShortRaces(t)
	path, size := swept(t)
	long := os.Getenv("ULNET_LONG")
	all := sweep(size, long)
	count := map[string]int{}
	for next, runs := 0, 0; next < len(all); runs++ {
		if runs > len(all) {
			t.Fatal("the sweeper does not get on")
		}
		next = sweepFrom(t, path, all, next, long, count)
	}
	t.Logf("%d bytes, %d damages: %v", size, len(all), count)
	for _, word := range []string{"damaged", "crashed", "whole"} {
		if count[word] == 0 {
			t.Errorf("nothing was %s", word)
		}
	}
}

// sweepFrom runs a sweeper until it ends or crashes, and returns the index of the damage with which
// the next sweeper begins.
func sweepFrom(t *testing.T, path string, all []damage, from int, long string, count map[string]int) (next int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, sweeperVerb, path, strconv.Itoa(from), long)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	word, lines := "", bufio.NewScanner(&stdout)
	next = from
	for at := from; lines.Scan(); word = lines.Text() {
		if n, err := strconv.Atoi(lines.Text()); err == nil {
			at = n
			next = at + 1
			continue
		}
		if w, why, _ := strings.Cut(lines.Text(), " "); w == "lost" {
			t.Errorf("%v: %s", all[at], why)
		} else if w != "sound" {
			count[w]++
		}
	}
	if err == nil {
		return max(next, min(from+sweptAtOnce, len(all)))
	}
	count["crashed"]++
	if word == "sound" || cmd.ProcessState == nil || !crashes(cmd.ProcessState.ExitCode(), stderr.String()) {
		t.Errorf("%v: the check found nothing, and then: %v: %s", all[next-1], err, firstLine(stderr.String()))
	}
	return next
}

// crashes reports whether a process has ended as the check process does when it crashes on
// damage.
func crashes(code int, stderr string) bool {
	return code == exitCrash || strings.Contains(stderr, "SIG")
}
