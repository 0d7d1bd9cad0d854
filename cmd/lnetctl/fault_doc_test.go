package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ulnet/cmd/internal/scripttest"
)

// TestFaultsDoc runs the commands of docs/faults.md, in their order, against three daemons, of
// which the first has the configuration in that document. Text after a command is what the
// command must print.
func TestFaultsDoc(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "faults.md"))
	if err != nil {
		t.Fatal(err)
	}
	var script, files strings.Builder
	commands, outputs := 0, 0
	for kind, block := range blocks(string(text)) {
		switch kind {
		case "yaml":
			fmt.Fprintf(&files, "-- lnetd.yaml --\n%s", block)
		case "text":
			outputs++
			fmt.Fprintf(&script, "cmp stdout %d.text\n", outputs)
			fmt.Fprintf(&files, "-- %d.text --\n%s", outputs, block)
		case "sh":
			for line := range strings.Lines(block) {
				commands++
				fmt.Fprintf(&script, "exec %s", line)
			}
		default:
			t.Errorf("a block of %q: no test knows what it is", kind)
		}
	}
	if commands < 10 || outputs < 2 || !strings.Contains(files.String(), "lnetd.yaml") {
		t.Fatalf("%d commands, %d outputs found", commands, outputs)
	}
	begin := `env RUNTIME_DIRECTORY=$WORK/run
mkdir run
node a 127.0.0.1 --config lnetd.yaml --socket run/lnetd.sock
node b 127.0.0.2
node c 127.0.0.3
`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "faults.txt"), []byte(begin+script.String()+files.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	scripttest.Run(t, dir, "lnetctl", "lnetd")
}

// blocks yields the fenced blocks of a Markdown text, each with its kind.
func blocks(text string) func(yield func(kind, block string) bool) {
	return func(yield func(kind, block string) bool) {
		for {
			_, rest, found := strings.Cut(text, "```")
			if !found {
				return
			}
			kind, rest, _ := strings.Cut(rest, "\n")
			block, after, closed := strings.Cut(rest, "```")
			if !closed || !yield(kind, block) {
				return
			}
			text = after
		}
	}
}
