package main

import (
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
)

func routeCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "route", Short: "Routes to other networks, and their gateways"}
	c.AddCommand(routeShow(g), routeAdd(g), routeDel(g))
	return c
}

// underscores makes a command accept flags with underscores in place of dashes, as the kernel's
// tool does.
func underscores(c *cobra.Command) {
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		name = strings.ReplaceAll(name, "_", "-")
		if name == "hop-count" {
			name = "hop"
		}
		return pflag.NormalizedName(name)
	})
}

func routeAdd(g *globals) *cobra.Command {
	r := node.AddRoutesRequest{}
	var net, gateway string
	c := &cobra.Command{
		Use:   "add --net NET --gateway NID [--hop N] [--priority N]",
		Short: "Add a route of the running node",
		Long: `Adds a route by which messages reach a network on which the node is not, until the
node ends or 'route del' removes it; its configuration stays as it is. Brackets in
network and gateway enclose numbers and ranges, and make a route of each pair: all, up to
16384, are added, or none. The gateway is a NID on a network of this node, and is checked at once,
and then every alive_router_check_interval.`,
		Example: `  lnetctl route add --net tcp1 --gateway 10.0.0.1@tcp
  lnetctl route add --net o2ib3 --gateway '10.0.0.[1-4]@tcp' --hop 2 --priority 1`,
		Args: cli.Args(),
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if err := missingRouteWords(net, gateway); err != nil {
				return err
			}
			if c.Flags().Changed("hop") && r.Hops != route.UndefinedHops && (r.Hops < 1 || r.Hops > route.MaxHops) {
				err := cli.Usagef("--hop: want 1 to %d hops, or -1 for undefined, not %d", route.MaxHops, r.Hops)
				return netlinkError("add", "route", -int(syscall.EINVAL), "invalid hop count must be between 1 and 255", err)
			}
			if r.Nets, err = nid.ExpandText(net, route.MaxRoutes); err != nil {
				return badRouteNet("add", err)
			}
			if r.Gateways, err = nid.ExpandText(gateway, route.MaxRoutes); err != nil {
				return badGateway("add", gateway, err)
			}
			if err := checkRouteWords("add", r.Nets, r.Gateways); err != nil {
				return err
			}
			return routeError("add", node.OpAddRoutes.Call(c.Context(), g.client(), r))
		},
	}
	underscores(c)
	addRouteNames(c, &net, &gateway)
	c.Flags().IntVarP(&r.Hops, "hop", "c", route.UndefinedHops, "number `N` of routers between here and the network, 1 to 255")
	c.Flags().IntVarP(&r.Priority, "priority", "p", 0, "`N`: routes with a lower one are preferred; 0 is the best")
	c.Flags().IntVarP(&r.Sensitivity, "health-sensitivity", "s", 1, "`N` by which a failure lowers the health of the gateway, from 1")
	return c
}

// addRouteNames adds the flags that identify a route.
func addRouteNames(c *cobra.Command, net, gateway *string) {
	c.Flags().StringVarP(net, "net", "n", "", "`NET` that the route leads to, such as tcp1")
	c.Flags().StringVarP(gateway, "gateway", "g", "", "`NID` of the gateway on a network of this node")
}

func routeDel(g *globals) *cobra.Command {
	var r node.RemoveRouteRequest
	c := &cobra.Command{
		Use:     "del --net NET --gateway NID",
		Short:   "Remove a route of the running node",
		Example: "  lnetctl route del --net tcp1 --gateway 10.0.0.1@tcp",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := missingRouteWords(r.Net, r.Gateway); err != nil {
				return err
			}
			if err := checkRouteWords("del", []string{r.Net}, []string{r.Gateway}); err != nil {
				return err
			}
			return routeError("del", node.OpRemoveRoute.Call(c.Context(), g.client(), r))
		},
	}
	underscores(c)
	addRouteNames(c, &r.Net, &r.Gateway)
	return c
}

// routeDoc is a route with the keys of the kernel's tool. The key cause is ulnet's addition.
type routeDoc struct {
	Net     string  `json:"net"`
	Gateway nid.NID `json:"gateway"`
}

// routeFilter selects the routes that route show prints.
type routeFilter struct {
	net, gateway  string
	hop, priority int
}

func routeShow(g *globals) *cobra.Command {
	var only routeFilter
	c := &cobra.Command{
		Use:   "show [--net NET] [--gateway NID] [-v]",
		Short: "Show routes and, with -v, their states",
		Long: `Shows the routes of the node. -v adds hops (-1: undefined), priority, health
sensitivity, and the state: "up" if messages take the route, or "down" with the cause.
The type is single-hop if the gateway is on the network itself. --json prints all of
that.`,
		Example: "  lnetctl route show --net tcp1 -v",
	}
	underscores(c)
	level := addVerbose(c)
	c.Flags().StringVarP(&only.net, "net", "n", "", "only routes to this `NET`")
	c.Flags().StringVarP(&only.gateway, "gateway", "g", "", "only routes by the gateway with this `NID`")
	c.Flags().IntVarP(&only.hop, "hop", "c", 0, "only routes with this number `N` of hops; -1: undefined")
	c.Flags().IntVarP(&only.priority, "priority", "p", 0, "only routes with this priority `N`")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := takeOnlyLevel(c, level, args); err != nil {
			return err
		}
		if err := checkUp(c.Context(), g, "route"); err != nil {
			return err
		}
		list, err := node.OpRoutes.Call(c.Context(), g.client(), control.None{})
		if err == nil {
			list, err = only.of(c, list)
		}
		if err != nil {
			return err
		}
		return printRoutes(c, g, list, *level)
	}
	return c
}

// of returns the routes to show.
func (f *routeFilter) of(c *cobra.Command, list []node.RouteStatus) ([]node.RouteStatus, error) {
	net, gateway := nid.Net{}, nid.NID{}
	var err error
	if f.net != "" {
		if net, err = nid.ParseNet(f.net); err != nil {
			return nil, badRouteNet("show", err)
		}
	}
	if f.gateway != "" {
		if gateway, err = nid.Parse(f.gateway); err != nil {
			return nil, badGateway("show", f.gateway, err)
		}
	}
	return slices.DeleteFunc(list, func(r node.RouteStatus) bool {
		return f.net != "" && r.Net != net.String() || f.gateway != "" && r.Gateway != gateway ||
			c.Flags().Changed("hop") && r.Hops != f.hop || c.Flags().Changed("priority") && r.Priority != f.priority
	}), nil
}

func printRoutes(c *cobra.Command, g *globals, list []node.RouteStatus, level int) error {
	if g.json || level > 0 && len(list) > 0 {
		return g.print(c, map[string][]node.RouteStatus{"route": list})
	}
	if len(list) == 0 {
		return nil // prints nothing, as the kernel's tool does
	}
	docs := make([]routeDoc, 0, len(list))
	for _, r := range list {
		docs = append(docs, routeDoc{r.Net, r.Gateway})
	}
	return g.print(c, map[string][]routeDoc{"route": docs})
}
