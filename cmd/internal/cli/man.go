package cli

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// man returns the verb that writes the manual pages of root and its verbs.
func man(root *cobra.Command) *cobra.Command {
	name := root.Name()
	c := &cobra.Command{
		Use:     "man DIR",
		Short:   "Write manual pages to a directory",
		Example: "  " + root.Name() + " man /usr/local/share/man/man8",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root.Use, root.DisableAutoGenTag = name, true
			return doc.GenManTree(root, &doc.GenManHeader{Section: "8", Source: "ulnet"}, args[0])
		},
	}
	c.Flags().StringVar(&name, "name", name, "`NAME` under which the command is installed")
	return c
}
