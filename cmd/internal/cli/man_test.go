package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
)

// TestExitStatusInPages: each manual page has the section EXIT STATUS: the usual codes, or those
// of the annotation of the command or of one above it.
func TestExitStatusInPages(t *testing.T) {
	verb := func(use string, codes ...string) *cobra.Command {
		c := &cobra.Command{Use: use, Short: "Do " + use, RunE: func(*cobra.Command, []string) error { return nil }}
		for _, text := range codes {
			c.Annotations = map[string]string{cli.ExitStatus: text}
		}
		return c
	}
	root, noun := verb("tool"), verb("noun", "0 good\n.7 bad-ly \\ said")
	noun.AddCommand(verb("show"))
	hidden := verb("hidden")
	hidden.Hidden = true
	root.AddCommand(noun, verb("other"), hidden)
	dir := t.TempDir()
	var errs strings.Builder
	if code := cli.Run(t.Context(), cli.Env{Stdout: &errs, Stderr: &errs}, root, []string{"man", dir}); code != cli.OK {
		t.Fatal(errs.String())
	}
	own := ".SH EXIT STATUS\n.TP\n\\fB0\\fP\ngood\n.TP\n\\fB\\&.7\\fP\nbad\\-ly \\e said\n"
	usual := ".SH EXIT STATUS\n.TP\n\\fB0\\fP\nThe command did what it was asked for.\n.TP\n\\fB1\\fP\n"
	for name, want := range map[string]string{"tool.8": usual, "tool-other.8": usual, "tool-noun.8": own, "tool-noun-show.8": own} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(string(text), want) || strings.Count(string(text), ".SH EXIT STATUS") != 1 ||
			strings.Index(string(text), ".SH SEE ALSO") < strings.Index(string(text), ".SH EXIT STATUS") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "tool-hidden.8")); err == nil {
		t.Error("a hidden command has a page")
	}
}
