package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/bench/worker"
	"ulnet/cmd/internal/cli"
	suite "ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
)

// TestMain runs the test binary as a worker process if its arguments ask for one.
func TestMain(m *testing.M) {
	if code, asked := worker.Child(os.Args[1:], workers...); asked {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// compilesLnetdump tells Go's test cache that the calling test depends on lnetdump, a command of
// another module that bench compiles. .ci/each sets a checksum of the one that make has compiled.
func compilesLnetdump() {
	if os.Getenv("ULNET_LNETDUMP") == "" {
		suite.Anew()
	}
}

func runBench(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	compilesLnetdump()
	var out bytes.Buffer
	var errs sharedBuffer
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	code = run(t.Context(), env, args)
	return code, out.String(), errs.String()
}

// sharedBuffer is a buffer for the output of several processes.
type sharedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // output so far; guarded by mu
}

func (s *sharedBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *sharedBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// virtual matches the goals that are measured in virtual time, most of them without goroutines.
var virtual = regexp.MustCompile(`^G-(SIM-[1-4]|GO-[124679]|SC-[134578]|CH-[12346]|MS-(?:[124679]|10)|RM-[246])$`)

// elsewhere matches the goals that other tests measure: TestZoneLines and TestCastLines here,
// and tests of cmd/lnetd and cmd/soak for goals about failing rails.
var elsewhere = regexp.MustCompile(`^G-(MS|RM|PA-[12])`)

// TestMeasure measures goals in one round and checks the output, not the figures: in a long run every goal,
// otherwise every third one of the goals for which leftOut returns false. Goals whose ids differ only in
// their last part, such as G-SIM-1 and G-SIM-2, run one after the other; these groups run in parallel,
// because many goals spend their time waiting. Under the race detector, TestMeasure never measures the goals
// for which leftOut returns true: most are simulations, which are ten times as slow there and have tests of
// their own.
func TestMeasure(t *testing.T) {
	if testing.Short() {
		t.Skip("moves some GiB; skipped by -short")
	}
	t.Parallel()
	families := make(map[string][]goal)
	for i, g := range slices.DeleteFunc(slices.Clone(goals), leftOut) {
		if suite.Long() || i%3 == 0 {
			name := g.id[:strings.LastIndex(g.id, "-")]
			families[name] = append(families[name], g)
		}
	}
	var count atomic.Int64
	t.Cleanup(func() {
		if n := count.Load(); n != 391 && suite.Long() && !suite.Race {
			t.Errorf("got %d lines, want 391", n)
		}
	})
	for name, family := range families {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, g := range family {
				count.Add(int64(measureOnce(t, g)))
			}
		})
	}
}

// leftOut reports whether this run of TestMeasure skips a goal. Except in a long run without the race
// detector, it skips the goals that are measured in virtual time, and those that other tests measure.
func leftOut(g goal) bool {
	return (!suite.Long() || suite.Race) && (virtual.MatchString(g.id) || elsewhere.MatchString(g.id))
}

// lineForm matches a line of bench's output: id, what was measured, value, goal, outcome.
var lineForm = regexp.MustCompile(`^(G-FLOOR|G-LN-[1-6]|G-CO-[1-3]|G-PA-[1-5]|G-SIM-[1-4]|G-GO-[1-9]|G-SC-[1-8]|G-CH-(?:[1-6]|etcd)|G-MS-(?:[1-9]|10)|MS-memberlist|GO-memberlist|G-RM-[1-8]|G-IB-[1-4]|G-ST-[12]|G-OP-[1-4]|LN-priority)  +(\S.*\S)  +((?:-?\d+\.\d{3} [\w%/]+|-) \(.*\))  +([<>]= \d+\.\d\d [\w%/]+|no goal)  +(met|missed|skipped|-)$`)

// measureOnce measures a goal in one round, checks the lines of the output, and returns how many there are.
func measureOnce(t *testing.T, g goal) int {
	file := filepath.Join(t.TempDir(), "performance.md")
	code, stdout, stderr := runBench(t, "--goal", g.id, "--rounds", "1", "--out", file)
	if code != 0 {
		t.Fatalf("%s: exit %d: %s", g.id, code, stderr)
	}
	report, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	for _, l := range lines {
		part := lineForm.FindStringSubmatch(l)
		if part == nil || part[1] != g.id {
			t.Errorf("%s: line %q does not have the form id, what, value, goal, verdict", g.id, l)
			continue
		}
		row := "| " + part[2] + " | " + part[3] + " | " + part[4] + " | " + part[5] + " |"
		if !strings.Contains(string(report), row) {
			t.Errorf("the report lacks %q", row)
		}
	}
	return len(lines)
}

func TestUsage(t *testing.T) {
	spec.Covers(t, "G-LN-1", "G-LN-3")
	tests := []struct {
		name   string
		args   []string
		code   int
		output string
	}{
		{"list", []string{"--list"}, cli.OK, "G-LN-1  8 B PUT"},
		{"list of a prefix", []string{"--list", "--goal", "G-LN-3"}, cli.OK, "G-LN-3  1 MiB"},
		{"unknown goal", []string{"--goal", "G-XX"}, cli.Usage, `no goal begins with "G-XX"`},
		{"no rounds", []string{"--rounds", "0"}, cli.Usage, "--rounds 0: at least 1"},
		{"stray argument", []string{"G-LN-1"}, cli.Usage, "G-LN-1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := runBench(t, tt.args...)
			if code != tt.code || !strings.Contains(stdout+stderr, tt.output) {
				t.Errorf("exit %d, %q; want %d and %q", code, stdout+stderr, tt.code, tt.output)
			}
		})
	}
}

func TestOutcome(t *testing.T) {
	tests := []struct {
		name string
		line line
		want string
	}{
		{"at most, below", line{ratio: 1.0, limit: 1.1}, "met"},
		{"at most, above", line{ratio: 1.2, limit: 1.1}, "missed"},
		{"none, one", line{ratio: 1}, "missed"},
		{"no goal", line{ratio: 1, free: true}, "-"},
		{"at least, above", line{ratio: 1.0, limit: 0.9, least: true}, "met"},
		{"at least, below", line{ratio: 0.8, limit: 0.9, least: true}, "missed"},
		{"not measured", line{limit: 0.9, skipped: "no mpirun"}, "skipped"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.line.outcome(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestCompareIsTheMedianOfRatios(t *testing.T) {
	// In the second round both systems were slow. The ratios of the rounds are 1, 2 and 1.1, and their median is 1.1.
	if got := compare([]float64{10, 200, 33}, []float64{10, 100, 30}); got != 1.1 {
		t.Errorf("got %v, want 1.1", got)
	}
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("median of an even number: got %v, want 2.5", got)
	}
}

func TestMergeKeepsOtherGoals(t *testing.T) {
	spec.Covers(t, "G-LN-1", "G-LN-3")
	one := merge(nil, "G-LN-3", "## G-LN-3\n\nold three\n")
	both := merge(one, "G-LN-1", "## G-LN-1\n\nold one\n")
	gone := append(both, "\n## G-XX\n\nno longer a goal\n\n## What was tried\n\nmuch\n"...)
	got := string(merge(gone, "G-LN-3", "## G-LN-3\n\nnew three\n"))
	want := reportHead + "\n## G-LN-1\n\nold one\n\n## G-LN-3\n\nnew three\n\n## What was tried\n\nmuch\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestInterruptedMeasurement(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer), Getenv: func(string) string { return "" }}
	if code := run(ctx, env, []string{"--out", ""}); code != cli.Failed {
		t.Errorf("exit %d, want %d", code, cli.Failed)
	}
}
