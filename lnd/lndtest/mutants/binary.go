package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A binary is the tests of one package, compiled with mutants. Which one acts is
// chosen at start.
type binary struct {
	dir    string // directory of the package
	path   string
	number map[string]int // number of each mutant in the binary, counted from 1
	chosen []string       // regular expressions of the tests of all its mutants
}

// A build makes binaries and keeps them below dir, which is absolute.
type build struct {
	dir   string
	count int
}

// all compiles one binary of the package in dir with all patches that a switch at run time
// can express, and returns the other patches. Those include all patches of other packages.
func (b *build) all(dir string, patches []patch) (*binary, []patch, error) {
	bin := &binary{dir: dir, number: make(map[string]int)}
	schemata := make(map[string]*schema)
	var alone []patch
	for i, p := range patches {
		if p.dir != dir {
			alone = append(alone, p)
			continue
		}
		ok, err := merge(schemata, i+1, p)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			alone = append(alone, p)
			continue
		}
		bin.number[p.name] = i + 1
		if !slices.Contains(bin.chosen, p.tests) {
			bin.chosen = append(bin.chosen, p.tests)
		}
	}
	files := make(map[string]string)
	for file, s := range schemata {
		files[file] = s.String()
	}
	if len(files) > 0 {
		name, err := packageName(files)
		if err != nil {
			return nil, nil, err
		}
		files[filepath.Join(dir, "chosen_mutant.go")] = fmt.Sprintf(chooser, name)
	}
	return bin, alone, b.compile(bin, files)
}

// merge adds a patch to the schemata of all its files. If one of them cannot express it,
// merge adds it to none and returns false.
func merge(schemata map[string]*schema, number int, p patch) (bool, error) {
	for _, trial := range []bool{true, false} {
		for file, mutated := range p.files {
			s := schemata[file]
			if s == nil || trial {
				text, err := os.ReadFile(file)
				if err != nil {
					return false, err
				}
				if s, err = newSchema(file, string(text)); err != nil {
					return false, err
				}
			}
			if ok, err := s.add(number, file, mutated); !ok || err != nil {
				return false, err
			}
			if !trial {
				schemata[file] = s
			}
		}
	}
	return true, nil
}

// one compiles a package with a single mutant, which is always active.
func (b *build) one(p patch) (*binary, error) {
	bin := &binary{dir: p.of, chosen: []string{p.tests}}
	return bin, b.compile(bin, p.files)
}

// packageName returns the name of the package that files belong to.
func packageName(files map[string]string) (string, error) {
	for file, text := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.PackageClauseOnly)
		if err != nil {
			return "", err
		}
		return f.Name.Name, nil
	}
	return "", errors.New("no file")
}

// compile compiles the tests of bin's package. The map files has the texts that replace some of its files.
func (b *build) compile(bin *binary, files map[string]string) error {
	b.count++
	dir := filepath.Join(b.dir, fmt.Sprint(b.count))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	list, err := overlay(dir, files)
	if err != nil {
		return err
	}
	bin.path = filepath.Join(dir, "mutants.test")
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", list, "-o", bin.path, "./"+bin.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return nil
}

// overlay writes files and the list of them that go build -overlay takes.
func overlay(dir string, files map[string]string) (string, error) {
	replace := make(map[string]string)
	for name, text := range files {
		here, err := filepath.Abs(name)
		if err != nil {
			return "", err
		}
		there := filepath.Join(dir, filepath.Base(name))
		replace[here] = there
		if err := os.WriteFile(there, []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, list, 0o600)
}

// errHung says that tests did not end in time.
var errHung = errors.New("hung")

// run runs short tests of the package with one of the mutants that it contains, or with none for
// the empty name.
func (bin *binary) run(ctx context.Context, mutant, tests string, limit time.Duration) ([]byte, error) {
	// The binary ends by itself at the limit, with the stacks of its goroutines.
	ctx, cancel := context.WithTimeout(ctx, limit+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin.path, "-test.short", "-test.failfast", "-test.paniconexit0", "-test.run", tests, "-test.timeout", limit.String())
	cmd.Dir = bin.dir
	// Only the short tests run, and inputs that fail with one mutant are not kept for the
	// next one.
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ULNET_LONG=") }),
		"RAPID_NOFAILFILE=1", fmt.Sprint(chooserEnv, "=", bin.number[mutant]))
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil && (ctx.Err() != nil || strings.Contains(string(out), "panic: test timed out after")) {
		err = errHung
	}
	return out, err
}
