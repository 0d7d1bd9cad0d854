package health

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocumentExamples: the programs in docs/client-health.md are the same as the examples of
// this package.
func TestDocumentExamples(t *testing.T) {
	b, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("..", "docs", "client-health.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := strings.Split(string(text), "```go\n")[1:]
	if len(shown) != 2 {
		t.Fatalf("%d programs", len(shown))
	}
	for _, program := range shown {
		program, _, _ = strings.Cut(program, "```")
		if !strings.Contains(string(b), program) {
			t.Errorf("not in an example:\n%s", program)
		}
	}
}
