// Package mutants takes single rules out of a package and sees whether its tests
// miss them (C.5 of the conformance list).
//
// A mutant is a file testdata/mutants/NAME.patch. Its first line says what it
// breaks; a second one may begin with "tests: " and name, as a regular
// expression for go test -run, those that are to miss it, which saves running
// all. Then come changes, each "--- file" and lines with "-", "+" or " " in
// front as diff -u has them. What they replace must be in the file once. The
// compiler reads the changed text in place of the file, which stays as it is.
package mutants

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Kill fails for each mutant of the package in the working directory with which
// the short tests pass: those of the package, or of that below it whose files the
// mutant changes. Each takes some seconds; they run in parallel. file is one of
// the package: the tests that the mutants name have to pass with the file read as
// a mutant's would be, but unchanged.
func Kill(t *testing.T, file string) {
	t.Helper()
	patches, err := filepath.Glob("testdata/mutants/*.patch")
	if err != nil || len(patches) < 5 {
		t.Fatal(patches, err)
	}
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := suite(t, named(t, patches), map[string]string{file: string(source)}); err != nil {
		t.Fatalf("without a change: %v\n%s", err, out)
	}
	for _, path := range patches {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".patch"), func(t *testing.T) {
			t.Parallel()
			tests, files, err := mutate(path)
			if err != nil {
				t.Fatal(err)
			}
			out, err := suite(t, tests, files)
			switch {
			case err == nil:
				t.Errorf("no test misses the rule of %s", path)
			case !strings.Contains(string(out), "--- FAIL: Test"):
				t.Errorf("%v: no test has failed:\n%s", err, out)
			}
		})
	}
}

// named returns the tests that the patches name, as one regular expression.
func named(t *testing.T, patches []string) string {
	t.Helper()
	var all []string
	for _, path := range patches {
		tests, _, err := mutate(path)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(all, tests) {
			all = append(all, tests)
		}
	}
	return strings.Join(all, "|")
}

// suite runs tests with other texts for some files.
func suite(t *testing.T, tests string, files map[string]string) ([]byte, error) {
	t.Helper()
	args := []string{"test", "-short", "-count=1", "-failfast", "-vet=off"}
	args = append(args, "-gcflags=-N -l -dwarf=false", "-ldflags=-s -w") // most of the time goes by compiling what runs for a moment
	dir := "."
	for name := range files { // any order: all are in one folder
		dir = "./" + filepath.Dir(name)
	}
	args = append(args, "-run", tests, "-overlay", overlay(t, files, unneeded(t, dir, tests)))
	return exec.CommandContext(t.Context(), "go", append(args, dir)...).CombinedOutput()
}

var (
	external = regexp.MustCompile(`(?m)^package \w+_test$`)
	testFunc = regexp.MustCompile(`(?m)^func (Test\w+)`)
)

// unneeded lists the files of a folder's external tests, if none of these is to be
// run: they take as long to compile as the package.
func unneeded(t *testing.T, dir, tests string) (paths []string) {
	t.Helper()
	run, err := regexp.Compile(tests)
	if err != nil {
		t.Fatal(err)
	}
	all, _ := filepath.Glob(filepath.Join(dir, "*_test.go")) // the pattern is one
	for _, path := range all {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !external.Match(source) {
			continue
		}
		paths = append(paths, path)
		for _, f := range testFunc.FindAllSubmatch(source, -1) {
			if run.Match(f[1]) {
				return nil
			}
		}
	}
	return paths
}

// mutate applies a patch, in memory.
func mutate(path string) (tests string, files map[string]string, err error) {
	patch, err := os.ReadFile(path)
	if err != nil {
		return "", nil, err
	}
	files = make(map[string]string)
	head, changes, _ := strings.Cut(string(patch), "\n--- ")
	if _, tests, _ = strings.Cut(head, "\ntests: "); tests == "" {
		tests = "."
	}
	for change := range strings.SplitSeq(changes, "\n--- ") {
		file, lines, _ := strings.Cut(change, "\n")
		if files[file] == "" {
			source, err := os.ReadFile(file)
			if err != nil {
				return "", nil, err
			}
			files[file] = string(source)
		}
		before, after := sides(lines)
		if n := strings.Count(files[file], before); n != 1 {
			return "", nil, fmt.Errorf("%s: in %s %d times:\n%s", path, file, n, before)
		}
		files[file] = strings.Replace(files[file], before, after, 1)
	}
	return tests, files, nil
}

// sides returns the text that a change replaces, and what it puts there.
func sides(lines string) (before, after string) {
	var b, a strings.Builder
	for line := range strings.Lines(strings.TrimSuffix(lines, "\n") + "\n") {
		if line[0] != '+' {
			b.WriteString(line[1:])
		}
		if line[0] != '-' {
			a.WriteString(line[1:])
		}
	}
	return b.String(), a.String()
}

// overlay writes files and the list that go test -overlay takes, without those that
// are to be left out.
func overlay(t *testing.T, files map[string]string, without []string) string {
	t.Helper()
	dir := t.TempDir()
	replace := make(map[string]string)
	for name, text := range files {
		here, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		there := filepath.Join(dir, strings.ReplaceAll(name, "/", "-"))
		replace[here] = there
		if err := os.WriteFile(there, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range without {
		here, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		replace[here] = ""
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
