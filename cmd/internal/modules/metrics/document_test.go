package metrics

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/metrics.md, dashboards and rules anew")

const (
	document = "../../../../docs/metrics.md"
	// firstMark and lastMark are the lines of the document before and after the table.
	firstMark, lastMark = "<!-- table of metrics -->\n", "<!-- end of table -->\n"
)

// generated checks that a file has the given text. With the flag -update, it first writes the text to the file.
func generated(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	has, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(has) != text {
		t.Errorf("%s is not what the table is: write it by go test ./cmd/internal/modules/metrics -update", path)
	}
}

// TestDocument: docs/metrics.md lists all metrics.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), firstMark)
	_, tail, ends := strings.Cut(rest, lastMark)
	if !ok || !ends {
		t.Fatal("docs/metrics.md has no place for the table")
	}
	generated(t, document, head+firstMark+tableText()+lastMark+tail)
}

// tableText returns the metrics as a table of Markdown.
func tableText() string {
	var b strings.Builder
	b.WriteString("\n| metric | labels | type, unit | what it is |\n|---|---|---|---|\n")
	for _, g := range table() {
		for _, m := range g.metrics() {
			typ := "gauge"
			switch {
			case m.counter:
				typ = "counter"
			case m.histogram:
				typ = "histogram"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s, %s | %s |\n", m.name, labelText(m.labels), typ, m.unit, m.help)
		}
	}
	b.WriteString("\n")
	return b.String()
}

func labelText(labels []string) string {
	sorted := slices.Sorted(slices.Values(labels))
	return strings.Join(sorted, ", ")
}
