package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the repository's root, seen from this package's folder.
var root = filepath.Join("..", "..", "..")

func load(t *testing.T) []*Package {
	t.Helper()
	pkgs, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) == 0 {
		t.Fatal("no package found")
	}
	return pkgs
}

func TestArrows(t *testing.T) {
	for _, line := range Arrows(load(t), Rules, Limits) {
		t.Error(line)
	}
}

func TestHabits(t *testing.T) {
	for _, line := range Habits(load(t)) {
		t.Error(line)
	}
}

// TestDependencyTable: a new dependency needs its line in ARCHITECTURE.md.
func TestDependencyTable(t *testing.T) {
	gomod, doc := read(t, "go.mod"), read(t, "ARCHITECTURE.md")
	for _, path := range DirectRequirements(gomod) {
		name := strings.TrimPrefix(path, "github.com/")
		if !strings.Contains(doc, name) {
			t.Errorf("go.mod requires %s, which ARCHITECTURE.md does not mention: add need, alternative, size of its tree", path)
		}
	}
}

// TestEveryPackageStandsInArchitecture: the document tells the truth about
// this tree.
func TestEveryPackageStandsInArchitecture(t *testing.T) {
	doc := read(t, "ARCHITECTURE.md")
	for _, p := range load(t) {
		if !strings.Contains(doc, "`"+p.Path+"`") {
			t.Errorf("ARCHITECTURE.md does not mention `%s`", p.Path)
		}
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
