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

// TestPage: a page shows the texts of the command unchanged, even those that roff or Markdown would take
// for markup, and options with their defaults. Indented lines keep their form.
func TestPage(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	root := &cobra.Command{Use: "tool"}
	verb := &cobra.Command{
		Use: "show A|_all_", Short: "Show *what* is -1 \\", Example: "  tool show 1\n.tool",
		Long: "First line\n'second* line:\n  set  in\n  .too\nThird.\n\n\tx\n\n#### Title\n\nEnd.",
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	verb.Flags().StringP("name", "n", "a-b", "a `NAME` of `TWO`")
	verb.Flags().Bool("on", false, ".on")
	verb.Flags().Int("secret", 1, "")
	_ = verb.Flags().MarkHidden("secret")
	root.PersistentFlags().Int("most", 7, "at most")
	root.AddCommand(verb)
	dir := t.TempDir()
	var errs strings.Builder
	if code := cli.Run(t.Context(), cli.Env{Stdout: &errs, Stderr: &errs}, root, []string{"man", dir}); code != cli.OK {
		t.Fatal(errs.String())
	}
	got, err := os.ReadFile(filepath.Join(dir, "tool-show.8"))
	want := `.TH "TOOL\-SHOW" "8" "Jan 1970" "ulnet" ""
.nh
.SH NAME
tool\-show \- Show *what* is \-1 \e
.SH SYNOPSIS
\fBtool show A|_all_ [flags]\fP
.SH DESCRIPTION
First line
\&'second* line:
.EX
  set  in
  .too
.EE
Third.
.PP
.EX
	x
.EE
.SS Title
.PP
End.
.SH OPTIONS
.TP
\fB\-h\fP, \fB\-\-help\fP[=false]
help for show
.TP
\fB\-n\fP, \fB\-\-name\fP="a\-b"
a \fBNAME\fP of \fBTWO\fP
.TP
\fB\-\-on\fP[=false]
\&.on
.SH OPTIONS INHERITED FROM PARENT COMMANDS
.TP
\fB\-\-most\fP=7
at most
.SH EXAMPLE
.EX
  tool show 1
\&.tool
.EE
.SH EXIT STATUS
.TP
\fB0\fP
The command did what it was asked for.
.TP
\fB1\fP
The command did not succeed. Standard error says why, and what to do next.
.TP
\fB2\fP
The command line is not valid.
.SH SEE ALSO
\fBtool(8)\fP
`
	if err != nil || string(got) != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "now")
	if code := cli.Run(t.Context(), cli.Env{Stdout: &errs, Stderr: &errs}, root, []string{"man", dir}); code != cli.Failed || !strings.Contains(errs.String(), `SOURCE_DATE_EPOCH is "now"`) {
		t.Errorf("with a wrong time: exit code %d, %q", code, &errs)
	}
}
