package boltstore

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ulnet/health"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/needs"
	"ulnet/lnd/lndtest/spec"
)

// strace runs the worker under strace. It returns what the worker printed, how it ended, and
// the system calls that strace recorded.
func strace(t *testing.T, path string, rounds int, args ...string) (said []string, state *os.ProcessState, calls string) {
	t.Helper()
	tool := needs.Program(t, "strace")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(t.TempDir(), "trace")
	args = append([]string{"-f", "-qq", "-o", trace, "-e", "trace=pwrite64,fdatasync,write"}, args...)
	if !strings.Contains(strings.Join(args, " "), ":signal=") {
		// With this option strace stops the worker only at the traced system calls. strace cannot send
		// signals then.
		args = append([]string{"--seccomp-bpf"}, args...)
	}
	cmd := exec.CommandContext(t.Context(), tool, append(args, self, workerVerb, path, strconv.Itoa(rounds))...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if strings.Contains(stderr.String(), "ptrace") || strings.Contains(stderr.String(), "Operation not permitted") {
		t.Skipf("this system does not let processes be traced: %s", stderr.String())
	}
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(&stdout); lines.Scan(); {
		said = append(said, lines.Text())
	}
	b, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	return said, cmd.ProcessState, string(b)
}

// books are the results of calls that the worker printed, for each client.
type books struct {
	incarnations map[int]uint64 // latest saved incarnation of each client; 0 after its removal
	tombstones   map[int]uint64 // latest removed incarnation of each client
	rounds       map[int]int    // number of finished calls for each client
}

func read(t *testing.T, said []string) books {
	t.Helper()
	b := books{map[int]uint64{}, map[int]uint64{}, map[int]int{}}
	for _, line := range said {
		if line == "open" {
			continue
		}
		var word string
		var n int
		var incarnation uint64
		if _, err := fmt.Sscanf(line, "%s %d %d", &word, &n, &incarnation); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		switch word {
		case "saved":
			b.incarnations[n] = incarnation
		case "removed":
			b.incarnations[n], b.tombstones[n] = 0, incarnation
		default:
			t.Fatalf("the worker failed: %q", line)
		}
		b.rounds[n]++
	}
	return b
}

// here checks a file in this process, which would crash if the file were damaged.
func here(path string) (damage, err error) {
	_, _, damage = inspect(path)
	return damage, nil
}

// check compares the books with the database that a killed worker left. The change that follows a
// client's latest printed result may be in the database or not: the worker may have been killed
// before or after it was durable.
func (b *books) check(t *testing.T, path string, rounds int) {
	t.Helper()
	s, err := Open(Config{Path: path, inspect: here})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if st := s.Stats(); st.SetAside != "" {
		t.Fatalf("the file was damaged: %s", st.Damage)
	}
	records, tombstones, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[health.ClientID]uint64)
	for _, r := range records {
		found[r.Client] = r.Incarnation
	}
	dead := make(map[health.ClientID]uint64)
	for _, g := range tombstones {
		dead[g.Client] = max(dead[g.Client], g.Incarnation)
	}
	for n := range workerClients {
		incarnation, round := b.incarnations[n], b.rounds[n]
		next := uint64(0) // the client's incarnation after the change whose result was not printed; 0: that change removes the client
		if step(n, round) {
			next = uint64(round + 1)
		}
		if got := found[id(n)]; got != incarnation && (got != next || round == rounds) {
			t.Errorf("client %d: life %d is there, want %d, or %d", n, got, incarnation, next)
		}
		if dead[id(n)] < b.tombstones[n] {
			t.Errorf("client %d: buried until life %d, want %d", n, dead[id(n)], b.tombstones[n])
		}
	}
}

// TestCrash: CH-4, CH-65, CH-66: a process is killed at the start of one of its writes or syncs,
// each of these in turn. If the process had called the callback of a record, the record is not lost.
func TestCrash(t *testing.T) {
	spec.Covers(t, "CH-4", "CH-65", "CH-66")
	notInShortRaces(t)
	for _, phase := range []struct {
		name   string
		begin  func(t *testing.T, path string)
		rounds int
	}{
		{"saving", func(t *testing.T, path string) {
			if err := open(t, path).Close(); err != nil {
				t.Fatal(err)
			}
		}, workerRounds},
		{"making the file", func(*testing.T, string) {}, 0},
	} {
		t.Run(phase.name, func(t *testing.T) {
			path := dbPath(t)
			phase.begin(t, path)
			said, state, calls := strace(t, path, phase.rounds)
			if !state.Success() || len(said) != 1+phase.rounds*workerClients {
				t.Fatalf("%v, %d lines", state, len(said))
			}
			b := read(t, said)
			b.check(t, path, phase.rounds)
			syncedFirst(t, calls, phase.rounds*workerClients)
			for _, call := range []string{"pwrite64", "fdatasync"} {
				most := ofOneThread(t, calls, call)
				if most < 2*phase.rounds || most < 2 {
					t.Fatalf("%d calls of %s in %d commits", most, call, phase.rounds)
				}
				every := effort.Of(most/4+1, most/4+1, 1) // a few are enough outside long runs: all commits are alike, with 2 writes and 2 syncs each
				for n := 1; n <= most; n += every {
					t.Run(fmt.Sprintf("%s %d of %d", call, n, most), func(t *testing.T) {
						path := dbPath(t)
						phase.begin(t, path)
						crash(t, path, phase.rounds, fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n))
					})
				}
			}
		})
	}
}

// crash has strace kill a worker at the injected system call, and checks the database.
func crash(t *testing.T, path string, rounds int, inject string) {
	t.Helper()
	said, state, _ := strace(t, path, rounds, "-e", inject)
	if status, ok := state.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the worker was not killed: %v after %d lines", state, len(said))
	}
	b := read(t, said)
	b.check(t, path, rounds)
}

// syncedFirst checks in the trace that all writes before each callback were synced. Killing the
// process would not show a missing sync, because the kernel keeps what was written.
func syncedFirst(t *testing.T, trace string, callbacks int) {
	t.Helper()
	dirty, spoke := false, 0
	for line := range strings.Lines(trace) {
		switch {
		case strings.Contains(line, "pwrite64("):
			dirty = true
		case strings.Contains(line, "fdatasync("):
			dirty = false
		case strings.Contains(line, `write(1, "saved`), strings.Contains(line, `write(1, "removed`):
			spoke++
			if dirty {
				t.Fatalf("called back before the sync: %s", line)
			}
		}
	}
	if spoke != callbacks {
		t.Errorf("%d callbacks in the trace, want %d", spoke, callbacks)
	}
}

// ofOneThread counts a system call, and fails unless one thread alone makes it. strace counts
// the calls of each thread, so with two threads it would inject the fault at another call.
func ofOneThread(t *testing.T, trace, call string) (n int) {
	t.Helper()
	threads := make(map[string]bool)
	for _, m := range traced.FindAllStringSubmatch(trace, -1) {
		if m[2] == call {
			threads[m[1]] = true
			n++
		}
	}
	if len(threads) != 1 {
		t.Fatalf("%d threads make calls of %s", len(threads), call)
	}
	return n
}

var traced = regexp.MustCompile(`(?m)^(\d+) +(\w+)\(`)

// TestDiskFails: an error of the disk reaches every caller whose record is in the failed commit.
// Earlier records stay. When the disk works again, records are saved again.
func TestDiskFails(t *testing.T) {
	for _, tt := range []struct{ call, errno, when, text string }{
		{"pwrite64", "ENOSPC", "7..9", syscall.ENOSPC.Error()},
		{"pwrite64", "EROFS", "7..9", syscall.EROFS.Error()},
		{"fdatasync", "EIO", "3..4", syscall.EIO.Error()}, // the sync of the data
		{"fdatasync", "EIO", "4", syscall.EIO.Error()},    // the sync of the meta page, which makes the commit valid
	} {
		t.Run(tt.call+" "+tt.errno+" "+tt.when, func(t *testing.T) {
			path := dbPath(t)
			if err := open(t, path).Close(); err != nil { // creates the database before the fault begins
				t.Fatal(err)
			}
			said, state, calls := strace(t, path, workerRounds, "-e", fmt.Sprintf("inject=%s:error=%s:when=%s", tt.call, tt.errno, tt.when))
			if !state.Success() {
				t.Fatalf("%v: %q", state, said)
			}
			if !strings.Contains(calls, "INJECTED") {
				t.Fatal("nothing has failed")
			}
			incarnations, failed := make(map[int]uint64), 0
			var last string
			for _, line := range said[1:] {
				var word string
				var n int
				var incarnation uint64
				if _, err := fmt.Sscanf(line, "%s %d %d", &word, &n, &incarnation); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				last = word
				switch word {
				case "saved":
					incarnations[n] = incarnation
				case "removed":
					delete(incarnations, n)
				default:
					failed++
					if !strings.Contains(line, tt.text) {
						t.Errorf("%q does not say %q", line, tt.text)
					}
				}
			}
			if failed == 0 || failed%workerClients != 0 || last == "failed" {
				t.Errorf("%d calls failed, and the last one %s", failed, last)
			}
			s := open(t, path)
			records, _, err := s.Load()
			if err != nil || s.Stats().SetAside != "" {
				t.Fatal(err, s.Stats())
			}
			for _, r := range records {
				if n := int(r.Epoch); incarnations[n] != r.Incarnation {
					t.Errorf("client %d: life %d is there, want %d", n, r.Incarnation, incarnations[n])
				}
				delete(incarnations, int(r.Epoch))
			}
			if len(incarnations) > 0 {
				t.Errorf("lost: %v", incarnations)
			}
		})
	}
}
