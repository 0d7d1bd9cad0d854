package shell

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
)

// tool returns a tool with a flag that all of its commands have.
func tool() Tool {
	return Tool{Name: "tool", Usage: "usage: tool\n", Root: func(cli.Env) *cobra.Command {
		root := &cobra.Command{Use: "tool", Version: "v1"}
		socket := root.PersistentFlags().String("socket", "usual", "")
		net := &cobra.Command{Use: "net"}
		net.AddCommand(&cobra.Command{
			Use:       "show",
			ValidArgs: []string{"tcp", "tcp1", "o2ib"},
			RunE: func(c *cobra.Command, args []string) error {
				_, err := fmt.Fprintln(c.OutOrStdout(), *socket, args)
				return err
			},
		})
		root.AddCommand(net)
		root.AddCommand(Commands(root)...)
		return root
	}}
}

// everything is the output of list-commands: the commands that every tool has, and those of the
// tree.
const everything = `quit                exit                help                --help              
version             --version           list-commands       --list-commands     
--ignore_errors     ignore_errors       completion          man                 
net                 
`

func TestTool(t *testing.T) {
	for _, test := range []struct {
		args, in string
		code     int
		out      string
	}{
		{"net show a", "net show b", 0, "usual [a]\n"},
		{"", "net show b\nnet show c\n", 0, "usual [b]\nusual [c]\n"},
		{"--socket s", "net show b\nnet show --socket t c\n", 0, "s [b]\nt [c]\n"},
		{"--socket=s net show", "net show b", 0, "s []\n"},
		{"", "nosuch\nnet show\n", 255, "usage: tool\n"},
		{"", "net nosuch\nnet show\n", 2, ""},
		{"--nosuch", "net show\n", 2, ""},
		{"ignore_errors", "nosuch\nnet show\n", 0, "usage: tool\nusual []\n"},
		{"--ignore_errors --socket s", "nosuch\nnet show\n", 0, "usage: tool\ns []\n"},
		{"--socket s --ignore_errors", "nosuch\nnet show\n", 0, "usage: tool\ns []\n"},
		{"--ignore_errors net show", "nosuch\n", 0, "usual []\n"},
		{"quit", "net show\n", 0, ""},
		{"exit", "net show\n", 0, ""},
		{"--list-commands", "net show", 0, everything},
		{"list-commands", "net show", 0, everything},
		{"", "--list-commands\n", 0, everything},
		{"version", "net show", 0, "tool version v1\n"},
		{"--version", "net show", 0, "tool version v1\n"},
	} {
		var out, errs strings.Builder
		env := cli.Env{Stdin: strings.NewReader(test.in), Stdout: &out, Stderr: &errs}
		if code := tool().Run(t.Context(), env, strings.Fields(test.args)); code != test.code || out.String() != test.out {
			t.Errorf("%q < %q: exit code %d, %q, want %d, %q; %s", test.args, test.in, code, &out, test.code, test.out, &errs)
		}
	}
	var out strings.Builder
	env := cli.Env{Stdin: strings.NewReader("net show"), Stdout: &out, Stderr: &out}
	if code := tool().Run(t.Context(), env, []string{"--help"}); code != 0 || !strings.Contains(out.String(), "Available Commands") {
		t.Errorf("--help: exit code %d, %s", code, &out)
	}
}

// TestOneTree: to execute a command, Run makes only one tree, also if flags come before the command. The
// values of these flags reach the command.
func TestOneTree(t *testing.T) {
	tested, trees := tool(), 0
	root := tested.Root
	tested.Root = func(env cli.Env) *cobra.Command { trees++; return root(env) }
	var out strings.Builder
	for _, args := range []string{"net show", "--socket s net show"} {
		trees = 0
		if code := tested.Run(t.Context(), cli.Env{Stdout: &out, Stderr: &out}, strings.Fields(args)); code != 0 || trees != 1 {
			t.Errorf("%q: exit code %d, %d trees, want 1: %s", args, code, trees, &out)
		}
	}
	if out.String() != "usual []\ns []\n" {
		t.Errorf("%q", &out)
	}
}

// TestPart: a command is executed in a part of the tree if that has the command, and in the whole
// tree otherwise.
func TestPart(t *testing.T) {
	tested, whole := tool(), 0
	root := tested.Root
	tested.Root = func(env cli.Env) *cobra.Command { whole++; return root(env) }
	tested.Part = func(env cli.Env, name string) *cobra.Command {
		part := root(env)
		for _, c := range part.Commands() {
			if c.Name() != "net" || name != "net" {
				part.RemoveCommand(c)
			}
		}
		return part
	}
	for _, test := range []struct {
		args  string
		code  int
		trees int // number of whole trees that the execution must make
		out   string
	}{
		{"net show", 0, 0, "usual []\n"},
		{"--socket s net show a", 0, 0, "s [a]\n"},
		{"--socket net net show --socket=t", 0, 0, "t []\n"},
		{"--socket net version", 0, 1, "tool version v1\n"},
		{"--list-commands", 0, 1, everything},
		{"nosuch", 2, 1, ""},
		{"--nosuch net show", 2, 1, ""},
	} {
		var out, errs strings.Builder
		whole = 0
		code := tested.Run(t.Context(), cli.Env{Stdout: &out, Stderr: &errs}, strings.Fields(test.args))
		if code != test.code || whole != test.trees || out.String() != test.out {
			t.Errorf("%s: exit code %d, %d whole trees, %q, want %+v; %s", test.args, code, whole, &out, test, &errs)
		}
	}
}

// TestComplete: the completions of the last word come from the tree of commands.
func TestComplete(t *testing.T) {
	for _, test := range []struct {
		words string // the last word begins after the last blank
		want  string
	}{
		{"n", "net"},
		{"net ", "show"},
		{"net show ", "tcp tcp1 o2ib"},
		{"net show tcp", "tcp tcp1"},
		{"net show --h", "--help"},
		{"nosuch ", ""},
	} {
		got := tool().complete(t.Context(), cli.Env{}, []string{"--socket", "s"}, strings.Split(test.words, " "))
		if !slices.Equal(got, strings.Fields(test.want)) {
			t.Errorf("%q: %q, want %s", test.words, got, test.want)
		}
	}
}
