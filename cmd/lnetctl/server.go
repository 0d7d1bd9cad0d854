package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	healthmod "ulnet/cmd/internal/modules/health"
)

func serverCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "server", Short: "Servers of client health, and this one's maintenance"}
	c.AddCommand(serverList(g), serverDrain(g), serverUndrain(g))
	return c
}

func serverList(g *globals) *cobra.Command {
	return cli.Question[serversDoc]{
		Use: "list", Short: "List the servers as this one knows them",
		Long: `Lists the servers of the cluster as this one knows them: whether each is alive, how
often it has died as far as is known, and of how many of this server's clients it is
the master. DRAINING is ? of another one that has
not said so.`,
		Example: "  lnetctl server list",
		Args:    cli.Args(),
		Ask: func(ctx context.Context, _ []string) (serversDoc, error) {
			list, err := healthmod.OpServers.Call(ctx, g.client(), control.None{})
			return serversDoc{list}, err
		},
		Print: printServers,
	}.Command(&g.json)
}

type serversDoc struct {
	Servers []healthmod.Peer `json:"servers"`
}

func printServers(w io.Writer, doc serversDoc) error {
	var table cli.Table
	table.Row("NID", "ALIVE", "DEATHS", "CLIENTS", "DRAINING")
	for _, p := range doc.Servers {
		draining := "?"
		if p.Draining != nil {
			draining = cli.YesNo(*p.Draining)
		}
		cells := []any{p.NID, cli.YesNo(p.Alive), p.Lifetimes, p.Clients, draining}
		if p.Self {
			cells = append(cells, "(this server)")
		}
		table.Row(cells...)
	}
	return table.Print(w)
}
