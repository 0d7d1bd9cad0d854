package main

import (
	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/router"
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
	Routing []any      `json:"routing"`
	Buffers buffersDoc `json:"buffers"`
	Memory  memoryDoc  `json:"memory"`
}

type buffersDoc struct {
	Tiny  int `json:"tiny"`
	Small int `json:"small"`
	Large int `json:"large"`
}

type memoryDoc struct {
	Used  int `json:"used"`
	Kept  int `json:"kept"`
	Limit int `json:"limit"`
}

type poolDoc struct {
	Pages   int `json:"npages"`
	Buffers int `json:"nbuffers"`
	Credits int `json:"credits"`
	Min     int `json:"mincredits"`
}

type poolsDoc struct {
	Tiny  poolDoc `json:"tiny"`
	Small poolDoc `json:"small"`
	Large poolDoc `json:"large"`
}

type cptDoc struct {
	CPT poolsDoc `json:"cpt[0]"`
}

type enableDoc struct {
	Enable router.Mode `json:"enable"`
}

func newRoutingDoc(s lnet.RouterSnapshot) routingDoc {
	b := s.Buffers
	pool := func(p router.Buffers) poolDoc { return poolDoc{p.Pages, p.Buffers, p.Credits, p.MinCredits} }
	used := b.Small.Memory + b.Large.Memory
	return routingDoc{
		Routing: []any{cptDoc{poolsDoc{pool(b.Tiny), pool(b.Small), pool(b.Large)}}, enableDoc{s.Mode}},
		Buffers: buffersDoc{s.Config.Tiny, s.Config.Small, s.Config.Large},
		Memory:  memoryDoc{Used: used, Kept: s.Memory - used, Limit: s.Config.Memory},
	}
}
