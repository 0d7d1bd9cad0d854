package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/drivers"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
)

func networkCommand(g *globals, chosen *string) *cobra.Command {
	return &cobra.Command{
		Use:   "network up|down|NETWORK",
		Short: "Configure LNet, take it down, or choose the network of the commands that follow",
		Long: `Chooses the network that peer_list and conn_list are about, for the commands that
follow at a prompt or in a file; --net does so for one command. "network up" and "down"
are 'lnetctl lnet configure --all' and 'lnetctl lnet unconfigure': lnetd goes on.`,
		Example: "  lctl network tcp",
		Args:    cli.Args("a NETWORK"),
		RunE: func(c *cobra.Command, args []string) error {
			switch args[0] {
			case "up", "configure":
				return g.configure(c, node.ConfigureRequest{Up: true, All: true}, "LNET configured")
			case "down", "unconfigure":
				return g.configure(c, node.ConfigureRequest{}, "LNET ready to unload")
			}
			net, err := nid.ParseNet(args[0])
			if err != nil {
				return cli.Usagef("%w", err)
			}
			*chosen = net.String()
			return nil
		},
	}
}

// configure configures LNet, or takes it down, and prints the text done.
func (g *globals) configure(c *cobra.Command, r node.ConfigureRequest, done string) error {
	gone, err := node.OpConfigure.Call(c.Context(), g.client(), r)
	for _, w := range gone.Warnings {
		fmt.Fprintln(g.stderr, "lctl: removed, but: "+w)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), done)
	return err
}

// connections asks for the connections of the chosen network.
func (g *globals) connections(ctx context.Context, verb string) (node.Connections, error) {
	if g.net == "" {
		return node.Connections{}, cli.Usagef("You must run the 'network' command before '%s', or name the network: lctl --net tcp %s", verb, verb)
	}
	c, err := node.OpConnections.Call(ctx, g.client(), node.ConnectionsRequest{Net: g.net})
	if err == nil && c.More {
		fmt.Fprintf(g.stderr, "lctl: there are more than %d peers; 'lnetctl peer show' has all\n", len(c.Peers))
	}
	return c, err
}

func peerList(g *globals) *cobra.Command {
	return cli.Question[node.Connections]{
		Use: "peer_list", Short: "List the peers of a network",
		Long: `Lists the peers with which the interfaces of a network have or want connections:
process, [users], the addresses of both sides and #, the number of connections.
Users are always 1. Without connections there are no addresses.`,
		Example: "  lctl --net tcp peer_list", Args: cli.Args(),
		Ask: func(ctx context.Context, _ []string) (node.Connections, error) {
			return g.connections(ctx, "peer_list")
		},
		Print: printPeers,
	}.Command(&g.json)
}

func printPeers(w io.Writer, c node.Connections) error {
	if len(c.Peers) == 0 {
		fmt.Fprintln(w, "<no peers>")
	}
	for _, p := range c.Peers {
		way := ""
		if len(p.Conns) > 0 {
			way = host(p.Conns[0].Local) + "->" + p.Conns[0].Remote
		}
		fmt.Fprintf(w, "%-20s [%d]%s #%d\n", p.ID, 1, way, len(p.Conns))
	}
	return nil
}

func connList(g *globals) *cobra.Command {
	return cli.Question[node.Connections]{
		Use: "conn_list", Short: "List the connections of a network",
		Long: `Lists the connections of a network. Of TCP: process, kind (C control, I bulk in, O
bulk out, A any), [scheduler], the addresses of both sides, the sizes of the socket's
buffers (0: the system chooses) and whether TCP waits for more to send (nagle). Of
RDMA: process and [MTU].`,
		Example: "  lctl --net tcp conn_list", Args: cli.Args(),
		Ask: func(ctx context.Context, _ []string) (node.Connections, error) {
			return g.connections(ctx, "conn_list")
		},
		Print: printConnections,
	}.Command(&g.json)
}

func printConnections(w io.Writer, c node.Connections) error {
	none := true
	for _, p := range c.Peers {
		for _, conn := range p.Conns {
			none = false
			fmt.Fprintln(w, connectionLine(p.ID, conn))
		}
	}
	if none {
		fmt.Fprintln(w, "<no connections>")
	}
	return nil
}

// connectionLine formats a connection in the form of Lustre's tool.
func connectionLine(id nid.ProcessID, c drivers.Conn) string {
	if c.MTU > 0 {
		return fmt.Sprintf("%s [%d]", id, c.MTU)
	}
	kind := map[string]string{"ANY": "A", "CONTROL": "C", "BULK_IN": "I", "BULK_OUT": "O"}[c.Type]
	if kind == "" {
		kind = "?"
	}
	nagle := "nonagle"
	if c.Nagle {
		nagle = "nagle"
	}
	return fmt.Sprintf("%-20s %s[%d]%s->%s %d/%d %s", id, kind, 0, host(c.Local), c.Remote, c.TxBuffer, c.RxBuffer, nagle)
}

// host returns an address without its port.
func host(addrPort string) string {
	for i := len(addrPort) - 1; i >= 0; i-- {
		if addrPort[i] == ':' {
			return addrPort[:i]
		}
	}
	return addrPort
}
