package zonesim_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/gossip/zone/zonesim"
	"ulnet/lnd/sim/scenario"
)

var update = flag.Bool("update", false, "write the tables of docs/scenarios.md anew")

const mark = "<!-- zone -->\n"

// TestDocumentExample: what docs/scenarios.md shows of zones runs, and passes.
func TestDocumentExample(t *testing.T) {
	_, text := document(t)
	_, after, found := strings.Cut(text, "```scenario zone\n")
	if !found {
		t.Fatal("docs/scenarios.md has no example of zones")
	}
	example, _, _ := strings.Cut(after, "```")
	for seed := range uint64(3) {
		holds(t, run(t, parse(t, example), scenario.Options{Seed: &seed}))
	}
}

// TestDocumentTables: the tables of docs/scenarios.md are what the protocol understands.
// -update writes them anew.
func TestDocumentTables(t *testing.T) {
	path, text := document(t)
	before, after, found := strings.Cut(text, mark)
	if !found {
		t.Fatalf("docs/scenarios.md lacks %q", mark)
	}
	for strings.HasPrefix(after, "\n") || strings.HasPrefix(after, "|") {
		_, after, _ = strings.Cut(after, "\n")
	}
	want := before + mark + tables(zonesim.Protocol) + "\n" + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("docs/scenarios.md differs from the protocol (-want +got), -update writes it:\n%s", diff)
	}
}

func document(t *testing.T) (path, text string) {
	t.Helper()
	path = filepath.Join("..", "..", "..", "docs", "scenarios.md")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, string(b)
}

func tables(p *scenario.Protocol) string {
	var b strings.Builder
	head := func(title string) { fmt.Fprintf(&b, "\n| %s | |\n|---|---|\n", title) }
	row := func(text, doc string) { fmt.Fprintf(&b, "| `%s` | %s |\n", text, doc) }
	head("option")
	for _, o := range p.Options {
		doc := o.Doc + "; " + o.Default
		if len(o.Choices) > 0 {
			doc = o.Doc + ": " + strings.Join(o.Choices, ", ") + "; " + o.Default
		}
		row(o.Name, doc)
	}
	head("verb")
	for _, v := range p.Verbs {
		row(v.Text(), v.Doc)
	}
	head("condition")
	for _, c := range p.Conditions {
		row(c.Text(), c.Doc)
	}
	head("quantity")
	for _, q := range p.Series {
		row(q.Name, q.Doc)
	}
	return b.String()
}
