package scenario_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ulnet/lnd/sim/flood"
	"ulnet/lnd/sim/scenario"
)

var protocols = []*scenario.Protocol{flood.Protocol}

func parse(t *testing.T, name, text string) *scenario.File {
	t.Helper()
	f, err := scenario.Parse(name, []byte(text), protocols)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func parseFile(t *testing.T, name string) *scenario.File {
	t.Helper()
	return parse(t, name, read(t, name))
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func run(t *testing.T, f *scenario.File, o scenario.Options) *scenario.Result {
	t.Helper()
	res, err := scenario.Run(t.Context(), f, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// expectOK fails the test for each check of a run that did not hold.
func expectOK(t *testing.T, f *scenario.File, res *scenario.Result) {
	t.Helper()
	for _, o := range res.Expects {
		if !o.OK {
			t.Errorf("%s:%d, seed %d: %s: at %v: %s", f.Name, o.Line, res.Seed, o.Text, o.At, o.Why)
		}
	}
}

// faults are scenarios that, taken together, contain every kind of fault.
var faults = []string{"lives.sim", "network.sim", "random.sim"}

func TestSameSeedSameDigest(t *testing.T) {
	for _, name := range faults {
		t.Run(name, func(t *testing.T) {
			f := parseFile(t, name)
			res := run(t, f, scenario.Options{})
			expectOK(t, f, res)
			if again := run(t, f, scenario.Options{}); again.Digest != res.Digest || again.Stats != res.Stats {
				t.Errorf("seed %d: digest %016x, then %016x", res.Seed, res.Digest, again.Digest)
			}
			seed := res.Seed + 1
			if other := run(t, f, scenario.Options{Seed: &seed}); other.Digest == res.Digest {
				t.Errorf("seeds %d and %d have the same digest %016x", res.Seed, seed, res.Digest)
			}
		})
	}
}

func TestExpandedRunsTheSame(t *testing.T) {
	for _, name := range faults {
		t.Run(name, func(t *testing.T) {
			f := parseFile(t, name)
			plain, err := f.Expand(f.Nodes, f.Seed)
			if err != nil {
				t.Fatal(err)
			}
			text := string(plain.Format())
			for _, word := range []string{" any ", "\nevery ", "\nrandom "} {
				if strings.Contains(text, word) {
					t.Errorf("the expanded file has %q:\n%s", word, text)
				}
			}
			again := parse(t, "expanded", text)
			want, got := run(t, f, scenario.Options{}), run(t, again, scenario.Options{})
			if got.Digest != want.Digest {
				t.Errorf("seed %d: digest %016x, expanded %016x:\n%s", want.Seed, want.Digest, got.Digest, text)
			}
			for i, o := range got.Expects {
				if w := want.Expects[i]; o.OK != w.OK || o.At != w.At {
					t.Errorf("%s: %v at %v, expanded %v at %v", w.Text, w.OK, w.At, o.OK, o.At)
				}
			}
		})
	}
}

func TestReplay(t *testing.T) {
	for _, name := range faults {
		t.Run(name, func(t *testing.T) {
			f := parseFile(t, name)
			var b bytes.Buffer
			res := run(t, f, scenario.Options{Record: &b})
			if plain := run(t, f, scenario.Options{}); plain.Digest != res.Digest {
				t.Errorf("recorded digest %016x, without recording %016x", res.Digest, plain.Digest)
			}
			done, err := scenario.Replay(t.Context(), bytes.NewReader(b.Bytes()), protocols, 0)
			if err != nil {
				t.Fatal(err)
			}
			if !done.Machines || done.Truncated || done.Steps != res.Stats.Steps || done.Digest != res.Digest {
				t.Errorf("replayed %+v: want %d steps, digest %016x", done, res.Stats.Steps, res.Digest)
			}
		})
	}
}

// TestReplayOfStacks: a replay at level stacks makes the whole run again.
func TestReplayOfStacks(t *testing.T) {
	f := parseFile(t, "random.sim")
	var b bytes.Buffer
	res := run(t, f, scenario.Options{Level: scenario.Stacks, Record: &b})
	done, err := scenario.Replay(t.Context(), &b, protocols, 0)
	if err != nil {
		t.Fatal(err)
	}
	if done.Machines || done.Truncated || done.Digest != res.Digest || done.Level != scenario.Stacks {
		t.Errorf("replayed %+v: want the digest %016x", done, res.Digest)
	}
}

func TestContextEndsARun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := scenario.Run(ctx, parseFile(t, "lives.sim"), scenario.Options{}); err == nil {
		t.Error("no error")
	}
}
