package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ulnet/cmd/internal/cli"
)

// TestManPages: each command has a page, under the name by which it is installed.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	var errs strings.Builder
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: &errs, Stderr: &errs, Getenv: os.Getenv}
	if code := run(t.Context(), env, []string{"man", "--name", "ulnet-lctl", dir}); code != 0 {
		t.Fatalf("man: exit code %d: %s", code, &errs)
	}
	commands := root(env, new(string)).Commands()
	if len(commands) < 15 {
		t.Errorf("%d commands", len(commands))
	}
	for _, c := range commands {
		page := filepath.Join(dir, "ulnet-lctl-"+c.Name()+".8")
		text, err := os.ReadFile(page)
		if err != nil || !strings.Contains(string(text), c.Short) || c.Short == "" || c.Example == "" {
			t.Errorf("%s: %v; the command says %q, and an example %q", page, err, c.Short, c.Example)
		}
	}
}
