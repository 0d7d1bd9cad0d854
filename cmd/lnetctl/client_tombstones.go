package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	healthmod "ulnet/cmd/internal/modules/health"
	"ulnet/lnet/nid"
)

func clientTombstones(g *globals) *cobra.Command {
	var f pastFlags
	c := &cobra.Command{
		Use:   "tombstones [CLIENT] [--nid NID] [--since AGE]",
		Short: "List the clients that this server refuses, because they were evicted",
		Long: `Lists the tombstones of this server, the oldest first: it refuses that incarnation of
the client (LIFE), and all before it, until the tombstone is forgotten after LEFT. A
client that still runs goes on in its next incarnation by itself.

CLIENT is an id or a name. NAME and PEER are - where this server did not have the
client when it was evicted, or has been restarted since; they are found by the id
only. TOLD BY is the server that has said so, - if this one has evicted the client
itself; a tombstone that was taken back, or dropped while this server was cut off, is
(withdrawn), and does not refuse the client.`,
		Example: `  lnetctl client tombstones --since 5m
  lnetctl client tombstones --nid 10.0.0.17@tcp --json | jq '.tombstones[].client'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			past, err := f.filter(args)
			if err != nil {
				return err
			}
			list, err := healthmod.OpTombstones.Call(c.Context(), g.client(), past)
			if err != nil {
				return err
			}
			if list.More {
				fmt.Fprintf(c.ErrOrStderr(), "the latest %d of %d tombstones; --limit has more of them listed\n", len(list.Tombstones), list.Matching)
			}
			return cli.Show(c.OutOrStdout(), g.json, list, printTombstones)
		},
	}
	f.add(c, "tombstones")
	return c
}

func printTombstones(w io.Writer, list healthmod.TombstoneList) error {
	var table cli.Table
	table.Row("AGE", "LEFT", "CLIENT", "NAME", "LIFE", "PEER", "TOLD BY")
	for _, t := range list.Tombstones {
		told := textOr(t.Server.IsValid(), t.Server)
		if t.Withdrawn {
			told += " (withdrawn)"
		}
		table.Row(shortTime(t.Age), shortTime(t.Left), t.Client, cmp.Or(t.Name, "-"), t.Incarnation, textOr(t.Peer != (nid.ProcessID{}), t.Peer), told)
	}
	return table.Print(w)
}

// textOr returns the text of a value, or "-" if it is not known.
func textOr(known bool, v fmt.Stringer) string {
	if !known {
		return "-"
	}
	return v.String()
}
