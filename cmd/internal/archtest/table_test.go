package archtest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is generated: arrows in ARCHITECTURE.md, docs/spec/coverage.md")

// TestArrowTable: the tables in ARCHITECTURE.md show exactly the Rules and Limits of this
// package.
func TestArrowTable(t *testing.T) {
	const begin, end = "<!-- arrows -->\n", "<!-- end of arrows -->\n"
	doc := read(t, "ARCHITECTURE.md")
	before, rest, found := strings.Cut(doc, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatal("ARCHITECTURE.md has no marks for the tables of arrows")
	}
	want := before + begin + arrowTable(Rules, Limits) + end + after
	if *update {
		if err := os.WriteFile(filepath.Join(root, "ARCHITECTURE.md"), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if doc != want {
		t.Error("ARCHITECTURE.md shows other arrows than arrows_test.go has: go test ./cmd/internal/archtest -run TestArrowTable -update writes them")
	}
}

// arrowTable returns the tables of rules and limits in Markdown.
func arrowTable(rules []Rule, limits []Limit) string {
	var b strings.Builder
	b.WriteString("| package | may import | and its tests |\n|---|---|---|\n")
	for _, r := range rules {
		b.WriteString("| " + code(r.Package) + " | " + code(r.May) + " | " + code(r.Tests) + " |\n")
	}
	b.WriteString("\n| of other modules | only in | and tests of |\n|---|---|---|\n")
	for _, l := range limits {
		b.WriteString("| " + code(l.Import) + " | " + code(l.Within) + " | " + code(l.Tests) + " |\n")
	}
	return b.String()
}

// code formats patterns as code in Markdown.
func code(patterns string) string {
	fields := strings.Fields(patterns)
	for i, p := range fields {
		fields[i] = "`" + p + "`"
	}
	return strings.Join(fields, " ")
}
