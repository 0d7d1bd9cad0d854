package scenario_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/sim/scenario"
)

func document(t *testing.T) (path, text string) {
	t.Helper()
	path = filepath.Join("..", "..", "..", "docs", "scenarios.md")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, string(b)
}

// TestDocumentExamples: the examples of docs/scenarios.md run, and pass.
func TestDocumentExamples(t *testing.T) {
	_, text := document(t)
	examples := strings.Split(text, "```scenario\n")[1:]
	if len(examples) == 0 {
		t.Fatal("docs/scenarios.md has no example")
	}
	for i, rest := range examples {
		example, _, _ := strings.Cut(rest, "```")
		f := parse(t, fmt.Sprintf("example %d", i+1), example)
		expectOK(t, f, run(t, f, scenario.Options{}))
		if i == 0 && strings.Count(example, "\n") > 10 {
			t.Errorf("the first example has more than ten lines")
		}
	}
}

// TestDocumentShrink: docs/scenarios.md shrinks the run of an example with a certain seed. That
// run fails, and Shrink leaves at most three faults of it, as the document says.
func TestDocumentShrink(t *testing.T) {
	_, text := document(t)
	before, after, _ := strings.Cut(text, "sim shrink --seed ")
	word, _, _ := strings.Cut(after, " ")
	seed, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		t.Fatalf("docs/scenarios.md shrinks no seed: %v", err)
	}
	before = before[strings.LastIndex(before, "```scenario\n")+len("```scenario\n"):]
	example, _, _ := strings.Cut(before, "```")
	small, err := scenario.Shrink(t.Context(), parse(t, "example", example), scenario.Options{Seed: &seed}, nil)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if small.Faults() > 3 {
		t.Errorf("seed %d: shrunk to\n%s", seed, small.Format())
	}
}

// TestDocumentTables: the tables of docs/scenarios.md list the statements, conditions and
// quantities that the parser takes. With -update the test writes the tables anew.
func TestDocumentTables(t *testing.T) {
	path, text := document(t)
	var statements strings.Builder
	for _, part := range []struct {
		title string
		forms []scenario.Form
	}{
		{"setting", scenario.Settings()},
		{"when", scenario.Schedules()},
		{"action", scenario.Actions()},
		{"check", scenario.Checks()},
	} {
		table(&statements, part.title, part.forms)
	}
	var conditions, quantities []scenario.Form
	var none scenario.Protocol
	for _, c := range none.AllConditions() {
		conditions = append(conditions, scenario.Form{Text: c.Text(), Doc: c.Doc})
	}
	for _, q := range none.Quantities() {
		quantities = append(quantities, scenario.Form{Text: q.Name, Doc: q.Doc})
	}
	want := section(text, "statements", statements.String())
	want = section(want, "conditions", tableText("condition", conditions))
	want = section(want, "quantities", tableText("quantity", quantities))
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("docs/scenarios.md differs from the parser (-want +got), -update writes it:\n%s", diff)
	}
}

// section replaces what stands behind a mark, up to the next heading or text.
func section(text, mark, tables string) string {
	mark = "<!-- " + mark + " -->\n"
	before, after, _ := strings.Cut(text, mark)
	for strings.HasPrefix(after, "\n") || strings.HasPrefix(after, "|") {
		_, after, _ = strings.Cut(after, "\n")
	}
	return before + mark + tables + "\n" + after
}

func tableText(title string, forms []scenario.Form) string {
	var b strings.Builder
	table(&b, title, forms)
	return b.String()
}

func table(b *strings.Builder, title string, forms []scenario.Form) {
	fmt.Fprintf(b, "\n| %s | |\n|---|---|\n", title)
	for _, f := range forms {
		fmt.Fprintf(b, "| `%s` | %s |\n", strings.ReplaceAll(f.Text, "|", `\|`), f.Doc)
	}
}
