package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCoverage: docs/spec/coverage.md is up to date.
func TestCoverage(t *testing.T) {
	c, _ := cover(t)
	file, table := filepath.Join(root, specFolder, coverageFile), c.Table()
	if *update {
		if err := os.WriteFile(file, []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(strings.Split(read(t, specFolder+"/"+coverageFile), "\n"), strings.Split(table, "\n")); diff != "" {
		t.Errorf("go test ./cmd/internal/archtest -run TestCoverage -update (-file +now):\n%s", diff)
	}
}
