package main

import (
	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// allNIDs stands for all NIDs, in the words of the kernel's 'lctl fail'.
const allNIDs = "_all_"

func faultFail(g *globals) *cobra.Command {
	var count int
	c := &cobra.Command{
		Use:   "fail NID|_all_ [--count N]",
		Short: "Make messages to and from a NID fail",
		Long: `Makes messages to and from a NID fail, as 'lctl fail' does in the kernel: a PUT
or GET to it ends with an input/output error at once, and what comes from it is
dropped ('stats show' counts it as simulated failure). The NID's messages go
again when --count of them have failed, or after --count 0. Several rules for a
NID are used up one after the other.`,
		Example: `  lnetctl fault fail 10.0.0.2@tcp --count 3
  lnetctl fault fail _all_ --count 0`,
		Args: cli.Args("a NID or _all_"),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := parseFailed(args[0])
			if err != nil {
				return err
			}
			if count < lnet.FailForever {
				return cli.Usagef("--count: want a number of messages, 0 or -1, not %d", count)
			}
			return node.OpFail.Call(c.Context(), g.client(), node.FailRequest{NID: id, Count: count})
		},
	}
	c.Flags().IntVar(&count, "count", lnet.FailForever, "how many messages, -1 for all from now on; 0 takes the rules for the NID back, with _all_ those for every NID")
	return c
}

func parseFailed(s string) (nid.NID, error) {
	if s == allNIDs {
		return nid.Any(), nil
	}
	id, err := parseNID(s)
	if err != nil {
		return id, cli.Usagef("%w", err)
	}
	return id, nil
}
