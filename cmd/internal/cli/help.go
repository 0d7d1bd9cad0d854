package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// helpCommand returns the verb "help" of a tree of commands. It fails on words that are no
// commands.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show the help of a command",
		Example: "  " + root.Name() + " help completion",
		RunE: func(_ *cobra.Command, words []string) error {
			c, rest, err := root.Find(words)
			switch {
			case len(words) == 0:
				return root.Help()
			case err != nil:
				return needVerb(root, words)
			case len(rest) > 0 && c.HasSubCommands():
				return needVerb(c, rest)
			case len(rest) > 0:
				return Hint(Usagef("%s has no commands, so none %q", c.CommandPath(), rest[0]), "see '%s --help'", c.CommandPath())
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
		ValidArgsFunction: func(_ *cobra.Command, words []string, begin string) (names []string, _ cobra.ShellCompDirective) {
			c, rest, err := root.Find(words)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			for _, sub := range c.Commands() {
				if sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), begin) {
					names = append(names, sub.Name())
				}
			}
			slices.Sort(names)
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}
