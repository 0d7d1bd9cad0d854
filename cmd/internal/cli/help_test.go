package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
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

// TestTextsThatCannotBeWritten: if a help, a version, a completion or what a verb prints cannot be written, because
// there is no room, the command fails with an error that says so. It is not an error of the command line. That a
// verb fails, too, does not hide it.
func TestTextsThatCannotBeWritten(t *testing.T) {
	for _, words := range []string{"--help", "help", "help noun verb", "noun verb --help", "--version", "completion bash", "noun verb", "noun fail"} {
		root := &cobra.Command{Use: "tool"}
		noun := &cobra.Command{Use: "noun"}
		for name, err := range map[string]error{"verb": nil, "fail": errors.New("failed")} {
			noun.AddCommand(&cobra.Command{Use: name, RunE: func(c *cobra.Command, _ []string) error {
				fmt.Fprintln(c.OutOrStdout(), "output")
				return err
			}})
		}
		root.AddCommand(noun)
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		var errs bytes.Buffer
		code := Run(t.Context(), Env{Stdin: strings.NewReader(""), Stdout: full, Stderr: &errs}, root, strings.Fields(words))
		if want := "tool: write /dev/full: no space left on device\n"; code != Failed || errs.String() != want {
			t.Errorf("%s: exit code %d, errors %q", words, code, &errs)
		}
		if err := full.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestHelpElsewhere: a Dialect function can redirect the help of a command, also that of the root, by setting
// another output of the command. Nothing is written to the output of the program then.
func TestHelpElsewhere(t *testing.T) {
	for _, words := range []string{"--", "noun"} {
		root := &cobra.Command{Use: "tool"}
		noun := &cobra.Command{Use: "noun"}
		noun.AddCommand(&cobra.Command{Use: "verb", RunE: func(*cobra.Command, []string) error { return nil }})
		root.AddCommand(noun)
		var out, errs, help bytes.Buffer
		env := Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}
		RunAs(t.Context(), env, root, strings.Fields(words), func(cmd *cobra.Command, err error, _ bool) error {
			cmd.SetOut(&help)
			_ = cmd.Help() // never fails
			return err
		})
		if !strings.Contains(help.String(), "Available Commands") || out.Len() > 0 {
			t.Errorf("%s: help %q, output %q, errors %q", words, &help, &out, &errs)
		}
	}
}
