package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ulnet/cmd/internal/cli"
)

// TestManPages: each command has a manual page with what the command does and its options.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	var errs strings.Builder
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: &errs, Stderr: &errs, Getenv: os.Getenv}
	if code := run(t.Context(), env, []string{"man", "--name", "ulnet-lnetctl", dir}); code != 0 {
		t.Fatalf("man: exit code %d: %s", code, &errs)
	}
	pages := 0
	for _, verb := range verbs(root(env)) {
		pages++
		name := "ulnet-" + strings.ReplaceAll(verb.CommandPath(), " ", "-") + ".8"
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		checkPage(t, name, string(text), verb)
	}
	if pages < 40 {
		t.Errorf("%d verbs", pages)
	}
}

// checkPage checks that a manual page has all texts of the command's help.
func checkPage(t *testing.T, name, page string, verb *cobra.Command) {
	t.Helper()
	if verb.Short == "" {
		t.Errorf("%s: the command does not say what it does", verb.CommandPath())
	}
	if !strings.Contains(plain(page), plain(verb.Short)) {
		t.Errorf("%s does not say %q", name, verb.Short)
	}
	verb.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if !strings.Contains(plain(page), plain("--"+f.Name)) {
			t.Errorf("%s has no option --%s", name, f.Name)
		}
		if f.Usage == "" {
			t.Errorf("%s: --%s is not explained", verb.CommandPath(), f.Name)
		}
	})
}

// plain removes the markup of man pages from a text.
func plain(s string) string {
	return strings.Join(strings.Fields(strings.NewReplacer(`\`, "", "-", "", "'", "", "’", "", `"`, "").Replace(s)), " ")
}
