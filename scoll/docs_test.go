package scoll_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var document = filepath.Join("..", "docs", "collectives.md")

// TestDocumentExample: the programs in docs/collectives.md are those of the examples, and have
// as many lines as the document claims.
func TestDocumentExample(t *testing.T) {
	blocks := strings.Split(read(t, document), "```go\n")[1:]
	for i, e := range []struct {
		file, end string
		lines     int
	}{
		{"example_call_test.go", "\n\n// Three servers", 30},
		{"example_test.go", "\n\n// Eight servers", 75},
	} {
		if len(blocks) <= i {
			t.Fatal("a program is missing")
		}
		_, shown, found := strings.Cut(blocks[i], ")\n\n") // skip the imports
		shown, _, _ = strings.Cut(shown, "\n```")
		_, example, _ := strings.Cut(read(t, e.file), ")\n\n")
		example, _, _ = strings.Cut(example, e.end)
		if diff := cmp.Diff(example, shown); diff != "" || !found {
			t.Errorf("docs/collectives.md (-%s +document):\n%s", e.file, diff)
		}
		if lines := strings.Count(shown, "\n") + 1; lines > e.lines {
			t.Errorf("%s: it has %d lines", e.file, lines)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
