package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ulnet/cmd/internal/cli"
)

// rumour is a scenario for sweeps.
const rumour = `# How a rumour spreads.
protocol flood
nodes 20
run 4s
link latency 5ms
set fanout 3
set again 100ms
at 1s do 1 tell 1
expect heard all within 3s
`

func rumourFile(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSweep: each file is run with each value, and the results are printed and drawn.
func TestSweep(t *testing.T) {
	calm, lossy := rumourFile(t, "calm.sim", rumour), rumourFile(t, "slow.sim", strings.Replace(rumour, "5ms", "50ms", 1))
	plot := filepath.Join(t.TempDir(), "x.svg")
	args := []string{"sweep", calm, lossy, "--vary", "nodes=10,40,160", "--vary", "fanout=2,3,4", "--runs", "3", "--show", "expect heard"}
	code, out, errs := simulate(t, append(args, "--plot", plot, "--log", "--title", "A title", "--with", "elsewhere: 10=1,40=0.5")...)
	if code != cli.OK {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "NODES  CALM") || !strings.HasPrefix(lines[3], "160 ") || !strings.Contains(lines[3], " s (") {
		t.Errorf("printed\n%s", out)
	}
	svg, err := os.ReadFile(plot)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg", "A title", "elsewhere", "calm", "expect heard, s"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("the plot lacks %q", want)
		}
	}
	code, out, errs = simulate(t, append(args, "--json")...)
	var list []swept
	if err := json.Unmarshal([]byte(out), &list); code != cli.OK || err != nil || len(list) != 2 || len(list[1].Points) != 3 {
		t.Fatalf("exit code %d, %v: %v\n%s", code, err, list, errs)
	}
	if a, b := list[0].Points[2], list[1].Points[2]; a.X != 160 || b.P50 < 2*a.P50 || a.P50 <= 0 || a.Min > a.Max {
		t.Errorf("%+v at 5 ms, %+v at 50 ms", a, b)
	}
}

// TestSweepFails: a sweep reports a run that failed its expectations, with the command that
// repeats this run.
func TestSweepFails(t *testing.T) {
	file := rumourFile(t, "lost.sim", strings.Replace(rumour, "5ms", "5ms loss 99%", 1))
	code, out, errs := simulate(t, "sweep", file, "--vary", "nodes=10,20", "--seed", "4", "--show", "events")
	if code != cli.Failed || !strings.Contains(out, "1 of 1 FAILED") {
		t.Errorf("exit code %d, printed\n%s", code, out)
	}
	if want := "lnetsim sweep " + file + " --vary nodes=10 --show events --seed 4"; !strings.Contains(errs, want) {
		t.Errorf("want %q in\n%s", want, errs)
	}
}

// TestVary: a value replaces that of its setting, or is added after the first line.
func TestVary(t *testing.T) {
	v, err := parseVary([]string{"again=20ms,1s", "nodes=7,9", "bug=none,none"})
	if err != nil || v.x[0] != 0.02 || v.x[1] != 1 || v.describe(1) != "again=1s nodes=9 bug=none" {
		t.Fatalf("%+v, %v", v, err)
	}
	want := strings.NewReplacer("nodes 20", "nodes 9", "again 100ms", "again 1s", "flood\n", "flood\nset bug none\n").Replace(rumour)
	if got := v.apply(rumour, 1); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if v, err = parseVary([]string{"heal=2s"}); err != nil || v.apply("at 1s partition 1 | 2\nat 5s heal\n", 0) != "at 1s partition 1 | 2\nat 2s heal\n" {
		t.Errorf("the end of a partition is not varied: %v", err)
	}
}

// TestSweepArguments: invalid arguments are refused, and the error says which ones are valid.
func TestSweepArguments(t *testing.T) {
	file := rumourFile(t, "calm.sim", rumour)
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"needs at least one FILE", []string{"--vary", "nodes=8", "--show", "events"}},
		{"--vary is missing", []string{file, "--show", "events"}},
		{"--show is missing", []string{file, "--vary", "nodes=8"}},
		{"want a setting and its values", []string{file, "--vary", "nodes", "--show", "events"}},
		{"no number and no time", []string{file, "--vary", "nodes=8,many", "--show", "events"}},
		{"they go in step", []string{file, "--vary", "nodes=8,9", "--vary", "fanout=2", "--show", "events"}},
		{"no measure and no expect", []string{file, "--vary", "nodes=8", "--show", "nothing"}},
		{"LABEL: X=Y", []string{file, "--vary", "nodes=8", "--show", "events", "--with", "8=9"}},
		{"want machines or stacks", []string{file, "--vary", "nodes=8", "--show", "events", "--on", "air"}},
		{"want 1 or more", []string{file, "--vary", "nodes=8", "--show", "events", "--runs", "0"}},
	} {
		if code, _, errs := simulate(t, append([]string{"sweep"}, tt.args...)...); code != cli.Usage || !strings.Contains(errs, tt.want) {
			t.Errorf("%v: exit code %d, want %q in\n%s", tt.args, code, tt.want, errs)
		}
	}
}
