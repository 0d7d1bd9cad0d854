package scoll_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/scoll"
)

var update = flag.Bool("update", false, "write the table of docs/collectives.md anew")

var document = filepath.Join("..", "docs", "collectives.md")

// TestDocumentExample: the programs in docs/collectives.md are those of the examples, and
// are as short as it says.
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
		_, shown, found := strings.Cut(blocks[i], ")\n\n") // imports
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

// TestDocumentTimeouts: the table of time-outs is what the code waits for
// (SC-141, SC-A8). -update writes it anew.
func TestDocumentTimeouts(t *testing.T) {
	var b strings.Builder
	b.WriteString("| R | g | P | bulk data | T(1) | T(2) | T(3) | T(4) | T(10) |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range []struct {
		rtt, processing time.Duration
		bulk            uint64
		bulkText        string
	}{
		{rtt: 10 * time.Millisecond},
		{rtt: 10 * time.Millisecond, processing: time.Second},
		{rtt: 10 * time.Millisecond, bulk: 1 << 20, bulkText: "1 MiB"},
		{rtt: time.Millisecond},
		{rtt: time.Millisecond, processing: time.Second, bulk: 64 << 20, bulkText: "64 MiB"},
		{rtt: 100 * time.Millisecond, processing: 30 * time.Second},
	} {
		cfg := scoll.Config{RTT: c.rtt}
		guard := scoll.ChildTimeout(cfg, 1, 0, 0) - c.rtt
		fmt.Fprintf(&b, "| %v | %v | %v | %s |", c.rtt, guard, c.processing, c.bulkText)
		for _, depth := range []int{1, 2, 3, 4, 10} {
			fmt.Fprintf(&b, " %v |", scoll.ChildTimeout(cfg, depth, c.bulk, c.processing).Round(10*time.Microsecond))
		}
		b.WriteByte('\n')
	}
	text := read(t, document)
	before, rest, _ := strings.Cut(text, "<!-- timeouts -->\n")
	_, after, found := strings.Cut(rest, "\nIn a binomial tree")
	want := before + "<!-- timeouts -->\n" + b.String() + "\nIn a binomial tree" + after
	switch {
	case !found:
		t.Fatal("no table of time-outs")
	case *update:
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	case want != text:
		t.Errorf("docs/collectives.md, -update writes it (-want +got):\n%s", cmp.Diff(want, text))
	}
}
