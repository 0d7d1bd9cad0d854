// Package mutants takes single rules out of a package and checks that its tests fail without
// them (mutation testing).
//
// A mutant is a file testdata/mutants/NAME.patch. Its first line says what rule it breaks. Three
// kinds of lines may follow. A line that begins with "tests: " has a regular expression for go
// test -run: the tests that must fail without the rule, so that the others need not run. A line
// that begins with "of: " has the folder of the package with these tests, if the patch changes
// another package: for instance, the tests of a simulator must find the mutants of an engine. A line
// that begins with "hangs: " says why tests may never end without the rule. Then come the
// changes: each has "--- file" and lines with "-", "+" or " " in front, as diff -u has them.
// The replaced text must be in the file exactly once. The compiler reads the changed text in
// place of the file, which stays as it is.
//
// All mutants of a package are compiled into one test binary. At start a variable of the
// environment tells the binary which mutant acts. A mutant that changes more than bodies of
// functions (a constant, a type) has a binary of its own.
package mutants

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
)

// limit is how long the tests of one mutant may take: many times what short tests
// take on a loaded machine.
const limit = 3 * time.Minute

// Kill fails the test for each mutant of the package in the working directory that the short tests
// do not detect. The short tests are those of the package whose files the mutant changes, or of the
// package that the mutant names. Without a mutant they have to pass. All this takes a minute or two,
// so it is done with ULNET_LONG=1 only. In other runs Kill only checks that each patch still applies
// and that the tests it names exist.
func Kill(t *testing.T) {
	t.Helper()
	patches, err := readPatches()
	if err != nil || len(patches) == 0 {
		t.Fatal(len(patches), err)
	}
	names := onceEach(testNames)
	for _, p := range patches {
		if err := p.check(names); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
	}
	switch {
	case t.Failed():
	case os.Getenv("ULNET_LONG") == "":
		t.Skipf("%d mutants apply; to see whether tests kill them, set ULNET_LONG=1", len(patches))
	case effort.Race:
		t.Skip("mutants run without the race detector")
	default:
		killAll(t, patches)
	}
}

// killAll builds the mutants of patches and judges each.
func killAll(t *testing.T, patches []patch) {
	t.Helper()
	b := &build{dir: t.TempDir()}
	for _, dir := range dirs(patches) {
		bin, alone, err := b.all(dir, in(dir, patches))
		if err != nil {
			t.Fatal(err)
		}
		if out, err := bin.run(t.Context(), "", strings.Join(bin.chosen, "|"), limit); err != nil {
			t.Fatalf("without a mutant: %v\n%s", err, out)
		}
		for _, p := range alone {
			own, err := b.one(p)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(p.name, func(t *testing.T) { judge(t, own, p) })
		}
		for _, p := range in(dir, patches) {
			if bin.number[p.name] > 0 {
				t.Run(p.name, func(t *testing.T) { judge(t, bin, p) })
			}
		}
	}
}

// judge makes the test t fail if the tests of a mutant do not kill it.
func judge(t *testing.T, bin *binary, p patch) {
	t.Helper()
	t.Parallel()
	out, err := bin.run(t.Context(), p.name, p.tests, limit)
	if err := result(p, out, err); err != nil {
		t.Error(err)
	}
}

// result returns why a mutant counts as alive after a run of its tests, or nil.
func result(p patch, out []byte, err error) error {
	switch {
	case errors.Is(err, errHung) && p.hangs:
		return nil
	case errors.Is(err, errHung):
		return fmt.Errorf("hung: without the rule, tests did not end within %v; let one fail, or add a line \"hangs: WHY\" to the patch:\n%s", limit, out)
	case err == nil:
		return fmt.Errorf("no test misses the rule: none of %q has failed", p.tests)
	case !strings.Contains(string(out), "--- FAIL: Test"):
		return fmt.Errorf("%w: no test has failed:\n%s", err, out)
	}
	return nil
}

// dirs lists the directories of the packages whose tests must fail.
func dirs(patches []patch) (all []string) {
	for _, p := range patches {
		if !slices.Contains(all, p.of) {
			all = append(all, p.of)
		}
	}
	return all
}

// in returns the patches for which tests in dir must fail.
func in(dir string, patches []patch) (some []patch) {
	for _, p := range patches {
		if p.of == dir {
			some = append(some, p)
		}
	}
	return some
}
