package main

import (
	"context"
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
)

func lnetCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "lnet", Short: "LNet on the node as a whole"}
	c.AddCommand(lnetConfigure(g), lnetUnconfigure(g))
	return c
}

func lnetConfigure(g *globals) *cobra.Command {
	r := node.ConfigureRequest{Up: true}
	c := &cobra.Command{
		Use:   "configure [--all] [--large]",
		Short: "Configure LNet after 'lnet unconfigure'",
		Long: `Configures LNet after 'lnet unconfigure': with --all as the configuration of lnetd and lnet.conf
say, as the start or the last 'lnetctl reload' has read them, else without networks, which
'net add' starts. If something cannot be started, LNet stays unconfigured. Settings stay as
they are; whether the node is a router is as configured. Where LNet is configured, as after the
start of lnetd, it does nothing. With --large, interfaces of tcp that have an IPv6 address get
their NIDs by it; 'net add --nid' starts one with such a NID at any time.`,
		Example: "  lnetctl lnet configure --all",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			return configure(c, g, r)
		},
	}
	c.Flags().BoolVarP(&r.All, "all", "a", false, "start the networks, peers, routes and rules of the configuration of lnetd and of lnet.conf")
	c.Flags().BoolVarP(&r.Large, "large", "l", false, "large NIDs, of IPv6 addresses, for interfaces that have one")
	return c
}

func lnetUnconfigure(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "unconfigure",
		Short: "Take LNet down: its networks, routes, rules and peers",
		Long: `Takes LNet down, while lnetd goes on: the node has no networks, routes, rules and peers
afterwards, until 'lnet configure'. Messages that wait may leave before, for a few seconds.`,
		Example: "  lnetctl lnet unconfigure",
		Args:    cli.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return configure(c, g, node.ConfigureRequest{}) },
	}
}

func configure(c *cobra.Command, g *globals, r node.ConfigureRequest) error {
	gone, err := node.OpConfigure.Call(c.Context(), g.client(), r)
	warnOfRemoval(c.ErrOrStderr(), gone.Warnings)
	if err == nil || !control.FromNode(err) {
		return err
	}
	errno := errnoOf(err)
	return netlinkError("configure", "lnet", -int(errno), "LNet configure error: "+cli.Strerror(errno), err)
}

// downError returns the error of a node on which LNet is not configured, or nil if it is
// configured.
func downError(s node.Status) error {
	if !s.Unconfigured {
		return nil
	}
	return cli.Hint(cli.Errnof(syscall.ENETDOWN, "LNet is not configured on the node"), "'lnetctl lnet configure' configures it, with --all as lnetd is configured")
}

// checkUp returns an error if LNet is not configured on the node whose item is to be shown.
func checkUp(ctx context.Context, g *globals, item string) error {
	s, err := node.OpStatus.Call(ctx, g.client(), control.None{})
	if err == nil {
		err = downError(s)
	}
	switch {
	case err == nil || !s.Unconfigured:
		return err
	case item == "routing":
		return plainError("show", item, -int(syscall.ENETDOWN), `"cannot get routing information: Network is down"`, err)
	}
	return netlinkError("show", item, -int(syscall.ENETDOWN), "Unspecific failure", err)
}

// setupCommands returns the commands that, in the kernel's tool, run scripts of the system.
func setupCommands() (list []*cobra.Command) {
	for _, name := range []string{"setup-mrrouting", "setup-sysctl"} {
		list = append(list, &cobra.Command{
			Use: name, Short: "Taken for the kernel's tool: lnetd needs no settings of the system", Example: "  lnetctl " + name,
			Args: cli.Args(), RunE: func(*cobra.Command, []string) error { return nil },
		})
	}
	return list
}

// serviceID is the service id of port 987 in the TCP port space of the RDMA CM, as the kernel's
// tool prints it.
const serviceID = "0xdb03060100000000"

func serviceCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:     "service-id [NET]",
		Short:   "Print the service id by which o2ib is found on InfiniBand, for subnet managers",
		Example: "  lnetctl service-id",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, _ []string) error {
			return g.print(c, map[string]map[string]string{"service_id": {"value": serviceID}})
		},
	}
	c.Flags().StringP("net", "n", "", "`NET`, which changes nothing")
	return c
}

// cptDocument is a NID with the CPU partition that serves it.
type cptDocument struct {
	NID string `json:"nid"`
	CPT int    `json:"cpt"`
}

func cptCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:     "cpt-of-nid NID...",
		Short:   "Print which CPU partition serves a NID: 0, the only one of a node here",
		Example: "  lnetctl cpt-of-nid 10.0.0.2@tcp",
		Args:    cli.AtLeastOne("NID"),
		RunE: func(c *cobra.Command, args []string) error {
			var docs []cptDocument
			for _, text := range args {
				ids, err := expandNIDs(text)
				if err != nil {
					return netlinkError("show", "cpt-of-nid", -int(syscall.EINVAL), "Invalid input data or parameter", cli.Usagef("%w", err))
				}
				for _, id := range ids {
					docs = append(docs, cptDocument{id.String(), onlyCPT})
				}
			}
			return g.print(c, map[string][]cptDocument{"cpt-of-nid": docs})
		},
	}
}

func debugNIDList(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:     "nidlist NIDS",
		Short:   "Check a list of NIDs, such as 10.0.0.[1-4]@tcp",
		Example: "  lnetctl debug nidlist '10.0.0.[1-4]@tcp'",
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return textError(exitInvalid, nil, "Missing nidlist argument")
			}
			if _, err := expandNIDs(args[0]); err != nil {
				return badNIDList(args[0], err)
			}
			if g.json {
				return cli.JSON(c.OutOrStdout(), map[string]string{"nidlist": args[0]})
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "nidlist parsed to: %s\n", args[0])
			return err
		},
	}
}

func debugPeer(g *globals) *cobra.Command {
	var of string
	c := &cobra.Command{
		Use:     "peer --nid NID",
		Short:   "Show all that is known of a peer; kernels write it to their log",
		Example: "  lnetctl debug peer --nid 10.0.0.2@tcp",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if of == "" {
				return plainError("debug", "peer", -int(syscall.EINVAL), "--nid must be specified", nil)
			}
			id, err := parseNID(of)
			if err != nil {
				return plainError("debug", "peer", -int(syscall.EINVAL), "--nid is no NID", cli.Usagef("%w", err))
			}
			if page, err := node.OpPeers.Call(c.Context(), g.client(), node.PeersRequest{NID: id}); err != nil || len(page.Peers)+len(page.Known) == 0 && !g.json {
				return err // kernels print nothing about peers that they do not know
			} else if len(page.Peers)+len(page.Known) == 0 {
				return cli.JSON(c.OutOrStdout(), map[string][]string{"peer": {}})
			}
			return showPeer(c, g, id, maxVerbosity)
		},
	}
	c.Flags().StringVarP(&of, "nid", "n", "", "`NID` of the peer")
	return c
}

// badNIDList returns the error for a text that is no list of NIDs.
func badNIDList(text string, err error) error {
	more := ""
	if !strings.Contains(text, "@") {
		more = fmt.Sprintf("nidrange %q doesn't contain '@'\n", text)
	}
	return textError(exitInvalid, cli.Usagef("%w", err), "%sUnable to parse nidlist from: %s", more, text)
}
