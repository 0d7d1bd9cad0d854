package scenariotest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/sim/scenario"
)

// Example returns the example of a protocol in a document: the block that begins
// with "```scenario" and the protocol's name.
func Example(t testing.TB, path, protocol string) string {
	t.Helper()
	_, after, found := strings.Cut(read(t, path), "```scenario "+protocol+"\n")
	if !found {
		t.Fatalf("%s has no example of %s", path, protocol)
	}
	example, _, _ := strings.Cut(after, "```")
	return example
}

// Tables compares the tables of a document behind the mark "<!-- NAME -->", NAME being the
// protocol's, with what the protocol understands. With update it writes them anew.
func Tables(t testing.TB, path string, p *scenario.Protocol, update bool) {
	t.Helper()
	text, mark := read(t, path), "<!-- "+p.Name+" -->\n"
	before, after, found := strings.Cut(text, mark)
	if !found {
		t.Fatalf("%s lacks %q", path, mark)
	}
	for strings.HasPrefix(after, "\n") || strings.HasPrefix(after, "|") {
		_, after, _ = strings.Cut(after, "\n")
	}
	want := before + mark + tables(p) + "\n" + after
	if update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("%s differs from the protocol (-want +got), -update writes it:\n%s", path, diff)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
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
