//go:build !race

package gossip

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMutants: without any one of these rules the suite fails (C.5 of the
// conformance list). A mutant is a patch of this package in testdata/mutants,
// which the compiler reads in place of the files. Each takes some seconds.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package a dozen times")
	}
	patches, err := filepath.Glob("testdata/mutants/*.patch")
	if err != nil || len(patches) < 5 {
		t.Fatal(patches, err)
	}
	source, err := os.ReadFile("machine.go")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := suite(t, map[string]string{"machine.go": string(source)}); err != nil {
		t.Fatalf("without a change: %v\n%s", err, out)
	}
	for _, path := range patches {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".patch"), func(t *testing.T) {
			t.Parallel()
			files, err := mutate(path)
			if err != nil {
				t.Fatal(err)
			}
			out, err := suite(t, files)
			switch {
			case err == nil:
				t.Errorf("no test misses the rule of %s", path)
			case !strings.Contains(string(out), "--- FAIL: Test"):
				t.Errorf("%v: no test has failed:\n%s", err, out)
			}
		})
	}
}

// suite runs the short tests with other texts for some files.
func suite(t *testing.T, files map[string]string) ([]byte, error) {
	t.Helper()
	args := []string{"test", "-short", "-count=1", "-failfast", "-vet=off", "-overlay", overlay(t, files), "."}
	return exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
}

// mutate applies a patch, in memory: a line on what it breaks, then changes,
// each "--- file" and lines with "-", "+" or " " in front as diff -u has them.
// What they replace must be in the file once.
func mutate(path string) (map[string]string, error) {
	patch, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	files := make(map[string]string)
	_, changes, _ := strings.Cut(string(patch), "\n--- ")
	for change := range strings.SplitSeq(changes, "\n--- ") {
		file, lines, _ := strings.Cut(change, "\n")
		if files[file] == "" {
			source, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			files[file] = string(source)
		}
		var before, after strings.Builder
		for line := range strings.Lines(strings.TrimSuffix(lines, "\n") + "\n") {
			if line[0] != '+' {
				before.WriteString(line[1:])
			}
			if line[0] != '-' {
				after.WriteString(line[1:])
			}
		}
		if n := strings.Count(files[file], before.String()); n != 1 {
			return nil, fmt.Errorf("%s: in %s %d times:\n%s", path, file, n, before.String())
		}
		files[file] = strings.Replace(files[file], before.String(), after.String(), 1)
	}
	return files, nil
}

// overlay writes files and the list that go test -overlay takes.
func overlay(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	replace := make(map[string]string)
	for name, text := range files {
		here, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		replace[here] = filepath.Join(dir, name)
		if err := os.WriteFile(replace[here], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(name, list, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
