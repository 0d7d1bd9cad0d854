package cli_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
)

var errRefused = errors.New("connection refused")

func done(*cobra.Command, []string) error { return nil }

// tool is a small command tree: a noun and its verbs.
func tool() *cobra.Command {
	root := &cobra.Command{Use: "tool", Short: "Test tool", Version: "v1"}
	net := &cobra.Command{Use: "net", Short: "Nets"}
	net.AddCommand(
		&cobra.Command{Use: "show", Args: cli.Args(), RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), "tcp")
			return err
		}},
		&cobra.Command{Use: "copy", Args: cli.Args("FROM", "TO"), RunE: done},
		&cobra.Command{Use: "list", Args: cli.AtLeastOne("NET"), RunE: done},
		&cobra.Command{Use: "fail", RunE: func(*cobra.Command, []string) error {
			return cli.Hint(fmt.Errorf("ping: %w", errRefused), "is lnetd running?")
		}},
		&cobra.Command{Use: "configure", RunE: func(*cobra.Command, []string) error {
			return cli.Hint(cli.ConfigError(errors.New("f:1: no such key")), "see f")
		}},
		&cobra.Command{Use: "odd", RunE: func(*cobra.Command, []string) error {
			return cli.Usagef("--a and --b exclude each other")
		}},
	)
	last := &cobra.Command{Use: "last", RunE: done}
	last.Flags().Int("count", 0, "")
	last.Flags().Uint32("size", 0, "")
	last.Flags().Float64("share", 0, "")
	last.Flags().Bool("all", false, "")
	net.AddCommand(last)
	root.AddCommand(net)
	return root
}

func TestRun(t *testing.T) {
	for _, test := range []struct {
		name, args     string
		code           int
		stdout, stderr string
	}{
		{"answer", "net show", cli.OK, "tcp\n", ""},
		{"failure", "net fail", cli.Failed, "", "tool: ping: connection refused\n  is lnetd running?\n"},
		{"invalid configuration", "net configure", cli.Config, "", "tool: f:1: no such key\n  see f\n"},
		{"usage found by the verb", "net odd", cli.Usage, "", "tool: --a and --b exclude each other\n  see 'tool net odd --help'\n"},
		{"unknown flag", "net show --x", cli.Usage, "", "tool: unknown flag: --x\n  see 'tool net show --help'\n"},
		{"no whole number", "net last --count x", cli.Usage, "", "tool: --count: want a whole number, not \"x\"\n  see 'tool net last --help'\n"},
		{"below zero", "net last --size=-1", cli.Usage, "", "tool: --size: want a whole number from 0, not \"-1\"\n  see 'tool net last --help'\n"},
		{"too large", "net last --size 4294967296", cli.Usage, "", "tool: --size: want a whole number from 0 that is not so large, not \"4294967296\"\n  see 'tool net last --help'\n"},
		{"no number", "net last --share x", cli.Usage, "", "tool: --share: want a number, not \"x\"\n  see 'tool net last --help'\n"},
		{"neither true nor false", "net last --all=x", cli.Usage, "", "tool: --all: want true or false, not \"x\"\n  see 'tool net last --help'\n"},
		{"too many arguments", "net show x", cli.Usage, "", "tool: tool net show takes no arguments, got \"x\"\n  see 'tool net show --help'\n"},
		{"no arguments", "net copy", cli.Usage, "", "tool: tool net copy needs FROM and TO\n  see 'tool net copy --help'\n"},
		{"an argument missing", "net copy a", cli.Usage, "", "tool: tool net copy needs TO\n  see 'tool net copy --help'\n"},
		{"an argument too many", "net copy a b c", cli.Usage, "", "tool: tool net copy takes FROM and TO and no more, got \"c\"\n  see 'tool net copy --help'\n"},
		{"all arguments", "net copy a b", cli.OK, "", ""},
		{"nothing to list", "net list", cli.Usage, "", "tool: tool net list needs a NET, or several\n  see 'tool net list --help'\n"},
		{"two to list", "net list a b", cli.OK, "", ""},
		{"noun without verb", "net", cli.Usage, "", "tool: tool net needs a command: configure, copy, fail, last, list, odd, show\n  see 'tool net --help'\n"},
		{"unknown verb", "net del", cli.Usage, "", "tool: tool net has no command \"del\"; it has configure, copy, fail, last, list, odd, show\n  see 'tool net --help'\n"},
		{"version", "--version", cli.OK, "tool version v1\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, errs strings.Builder
			env := cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
			code := cli.Run(t.Context(), env, tool(), strings.Fields(test.args))
			if code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if diff := cmp.Diff(test.stdout, out.String()); diff != "" {
				t.Errorf("stdout (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.stderr, errs.String()); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNoArguments: nil stands for a command line without arguments. With nil, cobra itself would take the
// arguments of this process.
func TestNoArguments(t *testing.T) {
	defer func(args []string) { os.Args = args }(os.Args)
	os.Args = []string{"program", "--unknown"}
	root := tool()
	root.RunE = done
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}
	if code := cli.Run(t.Context(), env, root, nil); code != cli.OK {
		t.Errorf("exit code %d, want %d", code, cli.OK)
	}
}

func TestRunCompletionAndMan(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	env := cli.Env{Stdout: &out, Stderr: &out}
	if code := cli.Run(context.Background(), env, tool(), []string{"man", filepath.Join(dir, "man8")}); code != cli.OK {
		t.Fatalf("man: exit code %d: %s", code, &out)
	}
	page, err := os.ReadFile(filepath.Join(dir, "man8", "tool-net-show.8"))
	if err != nil || !strings.Contains(string(page), ".TH") {
		t.Errorf("manual page of net show: %v, %q", err, page)
	}
	if code := cli.Run(context.Background(), env, tool(), []string{"completion", "bash"}); code != cli.OK || !strings.Contains(out.String(), "__start_tool") {
		t.Errorf("completion: exit code %d: %.100s", code, &out)
	}
}

func TestHint(t *testing.T) {
	err := cli.Hint(fmt.Errorf("open: %w", cli.Hint(errRefused, "inner")), "outer %d", 1)
	if got := cli.HintOf(err); got != "outer 1" {
		t.Errorf("HintOf = %q, want the outermost", got)
	}
	if !errors.Is(err, errRefused) {
		t.Error("a hint hides the error that it belongs to")
	}
	if cli.Hint(nil, "x") != nil {
		t.Error("Hint(nil) is an error")
	}
}
