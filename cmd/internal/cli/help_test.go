package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestHelp: the help of a command goes to standard output. A word that is no command is an
// error, which lists the commands that exist.
func TestHelp(t *testing.T) {
	for _, c := range []struct {
		words, out, errs string
		code             int
	}{
		{"help", "Available Commands", "", OK},
		{"help noun", "noun in short", "", OK},
		{"help noun verb", "verb in short", "", OK},
		{"help nosuch", "", `tool has no command "nosuch"; it has`, Usage},
		{"help noun nosuch", "", `tool noun has no command "nosuch"; it has verb`, Usage},
		{"__completeNoDesc help no", "noun\n:4\n", "directive", OK},
		{"help noun verb more", "", `tool noun verb has no commands, so none "more"`, Usage},
	} {
		root := &cobra.Command{Use: "tool"}
		noun := &cobra.Command{Use: "noun", Short: "noun in short"}
		noun.AddCommand(&cobra.Command{Use: "verb", Short: "verb in short", RunE: func(*cobra.Command, []string) error { return nil }})
		root.AddCommand(noun)
		var out, errs bytes.Buffer
		env := Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}
		code := Run(t.Context(), env, root, strings.Fields(c.words))
		if code != c.code || !strings.Contains(out.String(), c.out) || !strings.Contains(errs.String(), c.errs) {
			t.Errorf("%s: exit code %d, output %q, errors %q", c.words, code, &out, &errs)
		}
		if (out.Len() == 0) != (c.code != OK) || (errs.Len() == 0) != (c.errs == "") {
			t.Errorf("%s: output %q, errors %q", c.words, &out, &errs)
		}
	}
}
