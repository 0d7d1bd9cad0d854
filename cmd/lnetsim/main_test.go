package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/sim/scenario"
)

// simulate runs lnetsim with arguments.
func simulate(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	code = execute(t.Context(), env, args)
	return code, out.String(), errs.String()
}

// TestExamples: every embedded scenario, or every fourth one in a short run, is formatted, and
// passes with several seeds, except the scenario with an intended bug.
func TestExamples(t *testing.T) {
	effort.OneGoroutine(t) // one goroutine is enough here, as TestOrder runs several scenarios at a time
	for _, name := range effort.Some(4, exampleNames()) {
		t.Run(name, func(t *testing.T) {
			text, err := exampleText(name)
			if err != nil {
				t.Fatal(err)
			}
			f, err := scenario.Parse(name, text, protocols)
			if err != nil {
				t.Fatal(err)
			}
			if firstComment(text) == "" {
				t.Error("no comment says what the scenario shows: 'lnetsim examples' lists the first one")
			}
			if diff := cmp.Diff(string(f.Format()), string(text)); diff != "" {
				t.Errorf("not in its usual form, which lnetsim fmt -w gives it (-want +got):\n%s", diff)
			}
			want := cli.OK
			if name == "planted" {
				want = cli.Failed
			}
			if code, out, errs := simulate(t, "run", "--example", name, "--runs", effort.Of("1", "1", "3")); code != want {
				t.Errorf("exit code %d, want %d\n%s%s", code, want, out, errs)
			}
		})
	}
}

// TestOrder: several runs at the same time print the same as the runs one after the other.
func TestOrder(t *testing.T) {
	print := func(parallel string) string {
		code, out, errs := simulate(t, "run", "--example", "restart", "--runs", "8", "--parallel", parallel)
		if code != cli.OK {
			t.Fatalf("exit code %d: %s", code, errs)
		}
		_, after, _ := strings.Cut(out, "\n") // skip the first line, which has the wall-clock time
		return after
	}
	if diff := cmp.Diff(print("1"), print("4")); diff != "" {
		t.Errorf("(-one after the other +at the same time):\n%s", diff)
	}
}

// TestRepeat: the command that a failure prints repeats the failed run.
func TestRepeat(t *testing.T) {
	file := filepath.Join(t.TempDir(), "it's lost.sim")
	text := "protocol flood\nnodes 50\nrun 2s\nlink latency 1ms loss 60%\nset fanout 2\nat 1s do 1 tell 1\nexpect heard all within 1s\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := simulate(t, "run", file, "--nodes", "40", "--runs", "3", "--seed", "7", "--json")
	if code != cli.Failed {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	var r report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	quoted := strings.ReplaceAll(file, "'", `'\''`)
	if want := "lnetsim run '" + quoted + "' --nodes 40 --seed 7"; r.Runs[0].Repeat != want || !strings.Contains(errs, "to repeat it: "+want) {
		t.Errorf("repeat it by %q, want %q; said:\n%s", r.Runs[0].Repeat, want, errs)
	}
	_, out, _ = simulate(t, "run", file, "--nodes", "40", "--seed", "8")
	if !strings.Contains(out, "digest "+r.Runs[1].Digest) {
		t.Errorf("seed 8 gives %s, want digest %s", out, r.Runs[1].Digest)
	}
}

func TestBar(t *testing.T) {
	now := time.Now()
	b := &bar{runs: 4, share: []float64{1, 1, 0.5, 0}, events: []uint64{1e6, 1e6, 5e5, 0}, begun: now.Add(-time.Second)}
	want := "[##################............]  62%  2 of 4 runs  2.5M events/s"
	if got := b.text(now); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if newBar(io.Discard, 1).of(0) != nil {
		t.Error("progress is shown to who does not watch")
	}
}

func TestMemory(t *testing.T) {
	if got := memAvailable("MemTotal: 9 kB\nMemAvailable:    1024 kB\n"); got != 1<<20 {
		t.Errorf("%d bytes, want a MiB", got)
	}
	for text, want := range map[string]int64{"1": 1, "3K": 3 << 10, "512M": 512 << 20, "8G": 8 << 30, "": 0, "0": 0, "-1G": 0, "9999999999G": 0, "1T": 0} {
		var s size
		if err := s.Set(text); (err == nil) != (want != 0) || int64(s) != want {
			t.Errorf("%q: %d, %v, want %d", text, s, err, want)
		}
		if want != 0 && s.String() != text {
			t.Errorf("%q is written as %q", text, s.String())
		}
	}
}
