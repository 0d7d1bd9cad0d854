package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ulnet/cmd/internal/cli"
)

// TestManPages: each command has a page, under the name by which it is installed, and each command
// of Lustre's tool has a text of its usage.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	var errs strings.Builder
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: &errs, Stderr: &errs, Getenv: os.Getenv}
	if code := run(t.Context(), env, []string{"man", "--name", "ulnet-lst", dir}); code != 0 {
		t.Fatalf("man: exit code %d: %s", code, &errs)
	}
	theirs := 0
	for _, c := range root(env).Commands() {
		page := filepath.Join(dir, "ulnet-lst-"+c.Name()+".8")
		text, err := os.ReadFile(page)
		if err != nil || !strings.Contains(string(text), c.Short) || c.Short == "" || c.Example == "" {
			t.Errorf("%s: %v; the command says %q, and an example %q", page, err, c.Short, c.Example)
		}
		if c.Annotations[annotation] != "" {
			theirs++
		}
	}
	if theirs != 16 {
		t.Errorf("%d commands of Lustre's tool, want 16", theirs)
	}
}
