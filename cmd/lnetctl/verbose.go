package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
)

// maxVerbosity is the most detailed level of the kernel's tool.
const maxVerbosity = 4

// addVerbose adds -v, which counts 1 and may be followed by a level.
func addVerbose(c *cobra.Command) *int {
	level := c.Flags().IntP("verbose", "v", 0, "more detail: -v, or a `LEVEL` up to 4 as in -v 2")
	c.Flags().Lookup("verbose").NoOptDefVal = "1"
	return level
}

// takeLevel finds the level in "-v 2", which arrives as an argument, and
// returns the other arguments.
func takeLevel(c *cobra.Command, level *int, args []string) (rest []string, err error) {
	for _, arg := range args {
		n, numErr := strconv.Atoi(arg)
		if numErr == nil && c.Flags().Changed("verbose") {
			*level = n
			continue
		}
		rest = append(rest, arg)
	}
	if *level < 0 || *level > maxVerbosity {
		return nil, cli.Usagef("verbosity %d: want 1 to %d", *level, maxVerbosity)
	}
	return rest, nil
}
