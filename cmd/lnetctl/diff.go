package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/node"
)

func diffCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "diff [FILE]",
		Short: "Show what an import of a file would change",
		Long: `Compares a file for 'lnetctl import', or standard input, with the running node, and prints a
line for each difference: + import adds something, ~ it changes a setting, ! it fails because the
node has the same with other values, or the file is wrong. The number is the line of the file.
Nothing is changed. What the node has besides is no difference. The exit code is 0 without a
difference and 1 with one.`,
		Example: "  lnetctl diff lnet.conf && echo nothing to do",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			f, err := readTree(c, args)
			if err != nil {
				return err
			}
			now, err := node.Remote(g.client()).Tree(c.Context())
			if err != nil {
				return err
			}
			return printDiff(c, g, tree.Diff(now, f))
		},
	}
}

// marks are printed in front of the kinds of changes.
var marks = map[tree.Kind]string{tree.Adds: "+", tree.Sets: "~", tree.Fails: "!"}

func printDiff(c *cobra.Command, g *globals, list []tree.Change) error {
	if g.json {
		if list == nil {
			list = []tree.Change{}
		}
		if err := cli.JSON(c.OutOrStdout(), map[string][]tree.Change{"diff": list}); err != nil {
			return err
		}
	} else {
		for _, ch := range list {
			fmt.Fprintf(c.OutOrStdout(), "%s %d: %s\n", marks[ch.Kind], ch.Line, ch.What)
		}
	}
	if len(list) > 0 {
		return &kernelError{exit: 1}
	}
	return nil
}
