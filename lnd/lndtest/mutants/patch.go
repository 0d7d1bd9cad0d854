package mutants

import (
	"cmp"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A patch is one mutant, read from its file and applied in memory.
type patch struct {
	name  string
	tests string            // regular expression given to -test.run
	hangs bool              // a run that never ends counts as killed
	dir   string            // folder of the package that the patch changes, relative to the working directory
	of    string            // folder of the package whose tests must fail: dir, unless the patch names another one
	files map[string]string // changed text of each file, by its path relative to the working directory
}

// readPatches reads all patches of the package in the working directory.
func readPatches() ([]patch, error) {
	paths, err := filepath.Glob("testdata/mutants/*.patch")
	if err != nil {
		return nil, err
	}
	patches := make([]patch, len(paths))
	for i, path := range paths {
		if patches[i], err = readPatch(path); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return patches, nil
}

// readPatch reads and applies one patch.
func readPatch(path string) (patch, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return patch{}, err
	}
	p := patch{name: strings.TrimSuffix(filepath.Base(path), ".patch"), tests: ".", files: make(map[string]string)}
	head, changes, _ := strings.Cut(string(text), "\n--- ")
	for line := range strings.SplitSeq(head, "\n") {
		if tests, ok := strings.CutPrefix(line, "tests: "); ok {
			p.tests = tests
		}
		if of, ok := strings.CutPrefix(line, "of: "); ok {
			p.of = of
		}
		p.hangs = p.hangs || strings.HasPrefix(line, "hangs: ")
	}
	for change := range strings.SplitSeq(changes, "\n--- ") {
		file, lines, _ := strings.Cut(change, "\n")
		if err := p.apply(file, lines); err != nil {
			return patch{}, err
		}
	}
	p.of = cmp.Or(p.of, p.dir)
	return p, nil
}

// apply makes one change of the patch.
func (p *patch) apply(file, lines string) error {
	if p.files[file] == "" {
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		p.files[file] = string(source)
	}
	if dir := filepath.Dir(file); p.dir == "" {
		p.dir = dir
	} else if p.dir != dir {
		return fmt.Errorf("a mutant changes one package, not %s and %s", p.dir, dir)
	}
	before, after := sides(lines)
	if n := strings.Count(p.files[file], before); n != 1 {
		return fmt.Errorf("%s has the replaced text %d times, not once:\n%s", file, n, before)
	}
	p.files[file] = strings.Replace(p.files[file], before, after, 1)
	return nil
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

// check finds, without a compiler, what makes a patch worthless: Go that does
// not parse, and tests that no longer exist.
// names lists the tests of the package in a folder.
func (p *patch) check(names func(dir string) ([]string, error)) error {
	for file, text := range p.files {
		if _, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution); err != nil {
			return err
		}
	}
	tests, err := names(p.of)
	if err != nil {
		return err
	}
	for pattern := range strings.SplitSeq(p.tests, "|") {
		pattern, _, _ = strings.Cut(pattern, "/") // the part behind the first "/" names subtests
		run, err := regexp.Compile(pattern)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(tests, run.MatchString) {
			return fmt.Errorf("no test in %s matches %q", p.of, pattern)
		}
	}
	return nil
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testNames lists the tests of the package in a folder.
func testNames(dir string) (names []string, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for _, f := range testFunc.FindAllSubmatch(source, -1) {
			names = append(names, string(f[1]))
		}
	}
	return names, nil
}

// onceEach returns a function that calls f once for each argument and keeps the results, because all
// patches of a package ask for the same names. Only one goroutine may call it.
func onceEach(f func(dir string) ([]string, error)) func(dir string) ([]string, error) {
	known := make(map[string]func() ([]string, error))
	return func(dir string) ([]string, error) {
		if known[dir] == nil {
			known[dir] = sync.OnceValues(func() ([]string, error) { return f(dir) })
		}
		return known[dir]()
	}
}
