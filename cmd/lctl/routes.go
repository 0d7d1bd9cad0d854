package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
)

// routesDoc is the list of routes in JSON.
type routesDoc struct {
	Routes []node.RouteStatus `json:"route"`
}

func routeList(g *globals) *cobra.Command {
	c := cli.Question[routesDoc]{
		Use: "route_list", Short: "List the routes and their states",
		Long: `Lists the routes: network, hops, gateway, whether it is alive (up or down), and
priority. Hops that were not said are 4294967295, as in Lustre's tool.`,
		Example: "  lctl route_list", Args: cli.Args(),
		Ask: func(ctx context.Context, _ []string) (routesDoc, error) {
			list, err := node.OpRoutes.Call(ctx, g.client(), control.None{})
			return routesDoc{list}, err
		},
		Print: printRoutes,
	}.Command(&g.json)
	c.Aliases = []string{"show_route"}
	return c
}

func printRoutes(w io.Writer, d routesDoc) error {
	for _, r := range d.Routes {
		fmt.Fprintf(w, "net %18s hops %d gw %32s %s pri %d\n", r.Net, uint32(r.Hops), r.Gateway, r.State, r.Priority)
	}
	return nil
}
