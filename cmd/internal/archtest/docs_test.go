package archtest

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDependencyTable: ARCHITECTURE.md has a line for each dependency of go.mod.
func TestDependencyTable(t *testing.T) {
	doc := read(t, "ARCHITECTURE.md")
	for _, folder := range []string{".", Beside, Beside + "/peers"} {
		file := filepath.Join(folder, "go.mod")
		for _, path := range DirectRequirements(read(t, file)) {
			if !strings.Contains(doc, strings.TrimPrefix(path, "github.com/")) && !strings.HasPrefix(path+"/", Module+"/") {
				t.Errorf("%s requires %s, which ARCHITECTURE.md does not mention: add need, alternative, size of its tree", file, path)
			}
		}
	}
}

// TestPackageTable: the table of packages in ARCHITECTURE.md names all packages and no other.
func TestPackageTable(t *testing.T) {
	named := map[string]bool{}
	_, table, _ := strings.Cut(read(t, "ARCHITECTURE.md"), "## Packages")
	table, _, _ = strings.Cut(table, "\n## ")
	for line := range strings.Lines(table) {
		if cell, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ := strings.Cut(cell, "`")
			named[name] = true
		}
	}
	for _, p := range load(t) {
		if !named[p.Path] {
			t.Errorf("the table of packages in ARCHITECTURE.md has no row for `%s`: add one that says what the package is responsible for", p.Path)
		}
		delete(named, p.Path)
	}
	for name := range named {
		t.Errorf("ARCHITECTURE.md has a row for `%s`, which does not exist", name)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// contributed matches those names in CONTRIBUTING.md whose existence can be checked: tests, and
// paths.
var contributed = regexp.MustCompile("`(?:(Test[A-Za-z0-9]+)|([A-Za-z0-9]+(?:/[A-Za-z0-9_]+)+(?:\\.[a-z]+)?|[A-Z]+\\.md))`")

// TestContributing: the tests, files and folders that CONTRIBUTING.md names exist.
func TestContributing(t *testing.T) {
	tests := map[string]bool{}
	for _, p := range load(t) {
		for _, f := range p.Files {
			for _, d := range f.AST.Decls {
				if test, ok := d.(*ast.FuncDecl); ok && f.Test {
					tests[test.Name.Name] = true
				}
			}
		}
	}
	paths := 0
	for _, name := range contributed.FindAllStringSubmatch(read(t, "CONTRIBUTING.md"), -1) {
		if test := name[1]; test != "" {
			if !tests[test] {
				t.Errorf("CONTRIBUTING.md: there is no test %s", test)
			}
			continue
		}
		paths++
		if _, err := os.Stat(filepath.Join(root, name[2])); err != nil {
			t.Errorf("CONTRIBUTING.md: %v", err)
		}
	}
	if paths < 20 {
		t.Errorf("CONTRIBUTING.md names %d files and folders only: are they in backquotes?", paths)
	}
}
