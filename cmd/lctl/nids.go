package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
)

// nidsDoc is a list of NIDs, or of processes, in JSON.
type nidsDoc struct {
	NIDs []string `json:"nids"` // the same texts that printLines prints, one per NID or process
}

// printLines prints NIDs line by line.
func printLines(w io.Writer, d nidsDoc) error {
	for _, line := range d.NIDs {
		fmt.Fprintln(w, line)
	}
	return nil
}

func listNIDs(g *globals) *cobra.Command {
	return cli.Question[nidsDoc]{
		Use: "list_nids [all]", Short: "List the NIDs of the node, with all also 0@lo", Example: "  lctl list_nids",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && args[0] != "all" {
				return cli.Usagef("usage: list_nids [all]")
			}
			return nil
		},
		Ask: func(ctx context.Context, args []string) (d nidsDoc, err error) {
			s, err := node.OpStatus.Call(ctx, g.client(), control.None{})
			d.NIDs = []string{}
			for _, ni := range s.NIs {
				if len(args) > 0 || !ni.NID.IsLo() {
					d.NIDs = append(d.NIDs, ni.NID.String())
				}
			}
			return d, err
		},
		Print: printLines,
	}.Command(&g.json)
}

func whichNID(g *globals) *cobra.Command {
	return cli.Question[nidsDoc]{
		Use: "which_nid NID...", Short: "Print the NID that is nearest to this node",
		Long: `Prints, of the NIDs of a node, that by which it is reached best: on this node
itself, on a network of it, or behind the fewest routers. Of several that are
equally near, the first network of this node counts.`,
		Example: "  lctl which_nid 10.0.0.2@tcp 192.168.1.2@o2ib", Args: cli.AtLeastOne("NID"),
		Ask: func(ctx context.Context, args []string) (nidsDoc, error) {
			best, found := node.Distance{}, ""
			for _, arg := range args {
				id, err := nid.Parse(arg)
				if err != nil {
					return nidsDoc{}, cli.Hint(cli.Errnof(syscall.EINVAL, "Can't parse NID %s", arg), "%v", err)
				}
				d, err := node.OpDistance.Call(ctx, g.client(), node.DistanceRequest{NID: id})
				if errors.Is(err, syscall.EHOSTUNREACH) {
					continue
				}
				if err != nil {
					return nidsDoc{}, err
				}
				if found == "" || d.Hops < best.Hops || d.Hops == best.Hops && d.Order < best.Order {
					best, found = d, id.String()
				}
			}
			if found == "" {
				return nidsDoc{}, cli.Hint(cli.Errnof(syscall.EHOSTUNREACH, "No reachable NID"), "'lctl list_nids' has the networks of this node, 'lctl route_list' its routes")
			}
			return nidsDoc{[]string{found}}, nil
		},
		Print: printLines,
	}.Command(&g.json)
}

func pingCommand(g *globals) *cobra.Command {
	return cli.Question[nidsDoc]{
		Use: "ping NID [TIMEOUT [SOURCE]]", Short: "Ask a node for its NIDs",
		Long: `Asks a node for its NIDs and prints them, each with the process id of LNet. The
time is in seconds, or such as 500ms; without it 5 seconds. The source is a NID of
this node.`,
		Example: "  lctl ping 10.0.0.2@tcp 3",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 3 {
				return cli.Usagef("usage: ping NID [TIMEOUT [SOURCE]]")
			}
			return nil
		},
		Ask: func(ctx context.Context, args []string) (nidsDoc, error) {
			r, err := pingRequest(args)
			if err != nil {
				return nidsDoc{}, err
			}
			reply, err := node.OpPing.Call(ctx, g.client(), r)
			if err != nil {
				return nidsDoc{}, failedPing(args[0], err)
			}
			// Every node has 0@lo, which Lustre's tool shows but the daemon's reply leaves out.
			d := nidsDoc{[]string{nid.ProcessID{NID: nid.Lo0(), PID: nid.LustrePID}.String()}}
			for _, ni := range reply.NIs {
				d.NIDs = append(d.NIDs, nid.ProcessID{NID: ni.NID, PID: nid.LustrePID}.String())
			}
			return d, nil
		},
		Print: printLines,
	}.Command(&g.json)
}

// failedPing returns the error for a node that does not answer, in the words of Lustre's tool.
// Errors on the way to the daemon stay as they are.
func failedPing(target string, err error) error {
	errno, ok := errors.AsType[syscall.Errno](err)
	if !control.FromNode(err) || !ok {
		return err
	}
	hint := err.Error()
	if more := cli.HintOf(err); more != "" {
		hint += "; " + more
	}
	return cli.Hint(fmt.Errorf("failed to ping %s: %s", target, cli.Strerror(errno)), "%s", hint)
}

// pingRequest parses the arguments of ping.
func pingRequest(args []string) (r node.PingRequest, err error) {
	if r.Target, err = nid.ParseProcessID(args[0]); err != nil || r.Target.NID.IsAny() || !r.Target.IsValid() {
		return r, cli.Usagef("Can't parse process id %q", args[0])
	}
	if len(args) > 1 {
		seconds, notNumber := strconv.ParseUint(args[1], 10, 31)
		if r.Timeout = time.Duration(seconds) * time.Second; notNumber != nil {
			r.Timeout, err = time.ParseDuration(args[1])
		}
		if err != nil || r.Timeout <= 0 {
			return r, cli.Usagef("Can't parse timeout %q: want seconds, or a time such as 500ms", args[1])
		}
	}
	if len(args) > 2 {
		if r.Source, err = nid.Parse(args[2]); err != nil {
			return r, cli.Usagef("Can't parse source NID %q", args[2])
		}
	}
	return r, nil
}
