package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/health"
)

func clientEvict(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "evict ID",
		Short: "Evict a client from all servers",
		Long: `Evicts a client, with its exact id of 32 hexadecimal digits, from all servers at
once: each forgets it with all that it keeps for it. A client that still runs is told
so, and connects again in its next life.

Only the lnetd of the client's master can do that; another one says which it is. An
orphan, whose master is dead, is evicted by whichever server is asked; it stays where
a later choice of a master is known. A server without a quorum ends the connection
here only, says so, and exits with 1: the others are not told.
The eviction goes on when the command has ended: 'lnetctl health watch' shows it.`,
		Example: "  lnetctl client evict 5f1d7a84db00d2fce00b31a7fc73224f",
		Args:    cli.Args("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := health.ParseClientID(args[0])
			if err != nil {
				return cli.Hint(cli.Usagef("%q is no client id: want its 32 hexadecimal digits, all of them", args[0]),
					"'lnetctl client list' shows the ids, and 'lnetctl client show NAME' that of one")
			}
			r, err := g.client().HealthEvict(c.Context(), node.HealthEvict{Client: id})
			if err != nil {
				return err
			}
			if g.json {
				if err := cli.JSON(c.OutOrStdout(), r); err != nil {
					return err
				}
			}
			if err := notEvicted(&r); err != nil || g.json {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "client %v is being evicted from all servers\n", r.Client)
			return err
		},
	}
}

// notEvicted says why no eviction has begun; nil if one has.
func notEvicted(r *node.HealthEvicted) error {
	switch r.Result {
	case health.OK:
		return nil
	case health.NotConnected:
		return cli.Hint(fmt.Errorf("client %v is not connected to this server", r.Client),
			"'lnetctl client list' shows who is; ask another server if this one was just restarted")
	case health.OtherMaster:
		return cli.Hint(fmt.Errorf("the master of client %v is %v, and only that one can evict it", r.Client, r.Master),
			"on %v: lnetctl client evict %v", r.Master, r.Client)
	case health.Orphaned:
		return cli.Hint(fmt.Errorf("client %v is known from before a restart of this server, and its master %v has not confirmed it yet", r.Client, r.Master),
			"evict it there, or try again in some seconds; see 'lnetctl client show %v'", r.Client)
	case health.Busy:
		return cli.Hint(fmt.Errorf("client %v connects or is evicted at this moment", r.Client),
			"'lnetctl client show %v' says which; try again in a second", r.Client)
	case health.NoQuorum:
		return cli.Hint(fmt.Errorf("client %v was evicted from this server only, which is cut off from most others", r.Client),
			"it may be connected elsewhere, and connect here again: when 'lnetctl health status' says 'quorum: yes', evict it at its master")
	}
	return cli.Hint(fmt.Errorf("client %v was not evicted: %v", r.Client, r.Result), "see 'lnetctl health status'")
}
