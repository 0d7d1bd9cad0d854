package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// Coverage has, for each row of docs/spec, the files that name the row, the tests that claim it,
// and the mutants that break it.
type Coverage struct {
	spec    *Spec
	claims  Claims
	code    map[string][]string // files that name a row, by the row's id
	mutants map[string][]string // patches that name a row in the text above their changes, by the row's id
	bounds  map[string]bool     // ids of the goals that cmd/bench measures
}

// Cover finds the code, tests and mutants of the rows of s in texts and packages.
func (s *Spec) Cover(texts []Text, pkgs []*Package, claims Claims) *Coverage {
	c := &Coverage{spec: s, claims: claims, code: map[string][]string{}, mutants: map[string][]string{}, bounds: goals(pkgs)}
	for _, t := range texts {
		folder, rest, patch := strings.Cut(t.Name, "/testdata/mutants/")
		switch {
		case patch && strings.HasSuffix(rest, ".patch"):
			head, _, _ := strings.Cut(t.Body, "\n--- ")
			s.note(c.mutants, head, folder+"."+strings.TrimSuffix(rest, ".patch"))
		case strings.HasSuffix(t.Name, ".go") && !strings.HasSuffix(t.Name, "_test.go") && !strings.HasPrefix(t.Name, "cmd/internal/archtest/"):
			s.note(c.code, t.Body, path.Dir(t.Name)+"."+strings.TrimSuffix(path.Base(t.Name), ".go"))
		}
	}
	return c
}

// note adds the name where to each row that the text names.
func (s *Spec) note(rows map[string][]string, text, where string) {
	for _, id := range s.idsIn(text) {
		if !slices.Contains(rows[id], where) {
			rows[id] = append(rows[id], where)
		}
	}
}

// goals returns the ids of the goals that cmd/bench measures: string literals in its table that
// have the form of an id.
func goals(pkgs []*Package) map[string]bool {
	found := map[string]bool{}
	for _, p := range pkgs {
		for _, f := range p.Files {
			if p.Path != Beside || f.Test {
				continue
			}
			ast.Inspect(f.AST, func(n ast.Node) bool {
				if e, ok := n.(ast.Expr); ok {
					if id, ok := literal(e); ok {
						found[id] = true
					}
				}
				return true
			})
		}
	}
	return found
}

// Unclaimed returns a line for each row that a test must claim (see due) and that no test claims. A goal needs no
// test if cmd/bench measures it.
func (c *Coverage) Unclaimed() []string {
	var bad []string
	for _, r := range c.spec.Rows {
		if r.due() && len(c.claims[r.ID]) == 0 && !(r.goal() && c.bounds[r.ID]) {
			bad = append(bad, fmt.Sprintf("%s/%s: %s: no test claims it by spec.Covers", specFolder, r.File, r.ID))
		}
	}
	return bad
}

// Unbroken returns the sections, such as "goals.md: Simulation", without a mutant that breaks one of their rows. It
// leaves out sections that have no row that a test must claim (see due).
func (c *Coverage) Unbroken() []string {
	var sections []string
	broken := map[string]bool{}
	for _, r := range c.spec.Rows {
		section := r.File + ": " + r.Section
		if r.due() && !slices.Contains(sections, section) {
			sections = append(sections, section)
		}
		broken[section] = broken[section] || len(c.mutants[r.ID]) > 0
	}
	return slices.DeleteFunc(sections, func(s string) bool { return broken[s] })
}

// Table writes the content of docs/spec/coverage.md.
func (c *Coverage) Table() string {
	var b strings.Builder
	b.WriteString("# What shows each row\n\nWritten by `go test ./cmd/internal/archtest -run TestCoverage -update`: the files of code that name a row, the tests\n" +
		"that claim it (spec.Covers), and the mutants that break it. A goal without a test is measured by `make bench GOAL=`.\n")
	section := ""
	for _, r := range c.spec.Rows {
		if s := r.File + ": " + r.Section; s != section {
			section = s
			fmt.Fprintf(&b, "\n## %s\n\n| row | code | tests | mutants |\n|---|---|---|---|\n", s)
		}
		tests := grouped(c.claims[r.ID])
		switch {
		case r.Planned != "":
			tests = "planned: " + r.Planned
		case r.Out:
			tests = "out of scope"
		case tests == "" && c.bounds[r.ID]:
			tests = "`make bench GOAL=" + r.ID + "`"
		}
		fmt.Fprintf(&b, "| [%s](%s#%s) | %s | %s | %s |\n", r.ID, r.File, r.ID, grouped(c.code[r.ID]), tests, grouped(c.mutants[r.ID]))
	}
	return b.String()
}

// grouped groups names of the form "package.name" by package.
func grouped(names []string) string {
	var b strings.Builder
	last := ""
	for _, name := range slices.Sorted(slices.Values(names)) {
		at := strings.LastIndexByte(name, '.')
		switch folder := name[:at]; {
		case folder != last && last != "":
			fmt.Fprintf(&b, "; %s:", folder)
			last = folder
		case folder != last:
			fmt.Fprintf(&b, "%s:", folder)
			last = folder
		}
		b.WriteString(" " + name[at+1:])
	}
	return b.String()
}
