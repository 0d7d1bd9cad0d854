package main

import (
	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
)

func routingCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "routing", Short: "The node as a router"}
	c.AddCommand(&cobra.Command{
		Use:   "show",
		Short: "Show whether the node forwards messages, and its buffers",
		Long: `Shows the buffers of messages on their way through this node, under the names of the
kernel's tool: how many there are, how many are free (negative: so many messages
wait), and the fewest so far. enable is 0 off, 1 on, 2 stopping, 3 starting. The
memory of the buffers, in bytes, is taken when it is used; limit is
routing.memory of the configuration. 'lnetctl stats show' counts what was
forwarded, and why something was not.`,
		Example: "  lnetctl routing show",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkUp(c.Context(), g, "routing"); err != nil {
				return err
			}
			s, err := node.OpRouting.Call(c.Context(), g.client(), control.None{})
			if err != nil {
				return err
			}
			return g.print(c, newRoutingDoc(s))
		},
	})
	return c
}

// routingDoc has the keys of the kernel's tool, in its order (lustre_lnet_show_routing). The key
// memory is ulnet's addition.
type routingDoc struct {
	Routing *tree.Routing `json:"routing"`
	Buffers *tree.Buffers `json:"buffers"`
	Memory  memoryDoc     `json:"memory"`
}

type memoryDoc struct {
	Used  int `json:"used"`
	Kept  int `json:"kept"`
	Limit int `json:"limit"`
}

func newRoutingDoc(s lnet.RouterSnapshot) routingDoc {
	used := s.Buffers.Small.Memory + s.Buffers.Large.Memory
	return routingDoc{
		Routing: node.PoolsTree(s),
		Buffers: &tree.Buffers{Tiny: &s.Config.Tiny, Small: &s.Config.Small, Large: &s.Config.Large},
		Memory:  memoryDoc{Used: used, Kept: s.Memory - used, Limit: s.Config.Memory},
	}
}
