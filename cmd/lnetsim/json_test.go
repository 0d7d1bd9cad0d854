package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewriteGolden = flag.Bool("rewrite", false, "rewrite testdata/json.golden")

// TestJSONNames: the names in the output of --json stay the same, because programs read them.
func TestJSONNames(t *testing.T) {
	dir := t.TempDir()
	bad, recording := filepath.Join(dir, "bad.sim"), filepath.Join(dir, "run.rec")
	if err := os.WriteFile(bad, []byte("protocol flood\nnodes many\nrun 1s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, _ = simulate(t, "run", "--example", "restart", "--record", recording)
	var b strings.Builder
	for _, args := range [][]string{
		{"run", "--example", "planted"},
		{"run", "--example", "restart", "--runs", "2"},
		{"replay", recording},
		{"check", bad},
		{"protocols"},
		{"examples"},
		{"sweep", rumourFile(t, "calm.sim", rumour), "--vary", "nodes=10", "--show", "events"},
	} {
		_, out, errs := simulate(t, append(args, "--json")...)
		var v any
		if err := json.Unmarshal([]byte(out), &v); err != nil {
			t.Fatalf("%v: %v\n%s%s", args, err, out, errs)
		}
		set := map[string]bool{}
		names(set, "", v)
		b.WriteString("sim " + args[0] + "\n")
		for _, name := range sorted(set) {
			b.WriteString("  " + name + "\n")
		}
	}
	golden := filepath.Join("testdata", "json.golden")
	if *rewriteGolden {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-want +got), -rewrite takes it:\n%s", diff)
	}
}

// names collects the paths of all values in v; an element of a list has the path of the list
// with [].
func names(set map[string]bool, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			names(set, path+"."+key, value)
		}
	case []any:
		for _, value := range v {
			names(set, path+"[]", value)
		}
	default:
		set[strings.TrimPrefix(path, ".")] = true
	}
}

func sorted(set map[string]bool) []string {
	var list []string
	for name := range set {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}
