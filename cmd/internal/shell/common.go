package shell

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
)

// own are the words that a Shell runs itself, and which therefore name no command of the tree.
var own = []string{"quit", "exit", "help", "--help", "version", "--version", "list-commands", "--list-commands", "--ignore_errors", "ignore_errors"}

// Commands returns the commands that all of Lustre's tools have: version, and list-commands, which
// prints the names of all commands in columns.
func Commands(root *cobra.Command) []*cobra.Command {
	list := &cobra.Command{
		Use: "list-commands", Short: "List the commands", Example: "  " + root.Name() + " list-commands", Args: cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), columns(names(root)))
			return err
		},
	}
	version := &cobra.Command{
		Use: "version", Short: "Print the version", Example: "  " + root.Name() + " version", Args: cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "%s version %s\n", root.Name(), root.Version)
			return err
		},
	}
	return []*cobra.Command{list, version}
}

// names returns the words with which a line can begin: those that the shell runs itself, and the
// commands of a tree.
func names(root *cobra.Command) []string {
	list := slices.Clone(own)
	for _, sub := range root.Commands() {
		if sub.IsAvailableCommand() && !slices.Contains(list, sub.Name()) {
			list = append(list, sub.Name())
		}
	}
	return list
}

// columns writes words in four columns, as Lustre's tools do.
func columns(words []string) string {
	var b strings.Builder
	for i, word := range words {
		if i > 0 && i%4 == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%-20s", word)
	}
	return b.String()
}
