package archtest

import (
	"path/filepath"
	"sync"
	"testing"
)

// root is the repository's root, seen from this package's folder.
var root = filepath.Join("..", "..", "..")

// loadOnce parses the tree for all tests.
var loadOnce = sync.OnceValues(func() ([]*Package, error) { return Load(root) })

func load(t *testing.T) []*Package {
	t.Helper()
	pkgs, err := loadOnce()
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
	if t.Failed() {
		t.Log("which package may import which is in cmd/internal/archtest/arrows_test.go, and in ARCHITECTURE.md, which go test ./cmd/internal/archtest -run TestArrowTable -update writes")
	}
}

func TestHabits(t *testing.T) {
	for _, line := range Habits(load(t)) {
		t.Error(line)
	}
}
