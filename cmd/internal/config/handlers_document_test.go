package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/config"
)

// TestHandlersDocument: the configuration in docs/handlers.md is the same as the example in the
// reference. The page names all keys and events, and the defaults that it states are correct.
func TestHandlersDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "handlers.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	_, rest, _ := strings.Cut(doc, "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	if c, err := config.Parse("example", []byte(example+"zone:\n  name: z\n")); err != nil || len(c.Handlers) != 1 {
		t.Errorf("%v: %+v", err, c.Handlers)
	}
	if commented := "# " + strings.ReplaceAll(strings.TrimSuffix(example, "\n"), "\n", "\n# ") + "\nhandlers: {}\n"; !strings.Contains(config.Reference(), commented) {
		t.Errorf("reference.yaml lacks\n%s", commented)
	}
	short, err := config.Parse("short", []byte("handlers:\n  h:\n    on: [gossip]\n    run: [x]\n"))
	if err != nil {
		t.Fatal(err)
	}
	h := short.Handlers[0]
	for key, value := range map[string]string{"on": "", "run": "", "user": "", "timeout": h.Timeout.String(), "interval": h.Interval.String()} {
		if want := "\n| `" + key + "` | " + value + " | "; !strings.Contains(strings.ReplaceAll(doc, " |  | ", " | | "), strings.ReplaceAll(want, " |  | ", " | | ")) {
			t.Errorf("there is no line %q", want)
		}
	}
	rows := map[string]string{}
	for line := range strings.Lines(doc) {
		if cells := strings.Split(line, " | "); len(cells) == 2 {
			rows[strings.Trim(cells[0], "| `")] = cells[1]
		}
	}
	named := map[string]bool{}
	for _, event := range config.EventNames() {
		words := strings.Split(event, ".")
		for _, word := range words[1:] {
			if !strings.Contains(rows[words[0]], "`"+word+"`") {
				t.Errorf("the row of %s lacks %s", words[0], word)
			}
		}
		named[words[0]] = true
	}
	if diff := cmp.Diff(map[string]bool{"gossip": true, "zone": true, "health": true}, named); diff != "" {
		t.Error(diff)
	}
}
