package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// Args accepts exactly the arguments with the given names. Its errors name those that are
// missing or superfluous.
func Args(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return Usagef("%s needs %s", c.CommandPath(), strings.Join(names[len(args):], " and "))
		case len(args) > len(names) && len(names) == 0:
			return Usagef("%s takes no arguments, got %q", c.CommandPath(), args[0])
		case len(args) > len(names):
			return Usagef("%s takes %s and no more, got %q", c.CommandPath(), strings.Join(names, " and "), args[len(names)])
		}
		return nil
	}
}

// AtLeastOne accepts one argument or more.
func AtLeastOne(name string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return Usagef("%s needs a %s, or several", c.CommandPath(), name)
		}
		return nil
	}
}
