// Lnetdump shows the LNet messages in captures and on live connections.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/capture"
)

func main() { os.Exit(run(context.Background(), cli.OS(), os.Args[1:])) }

func run(ctx context.Context, env cli.Env, args []string) int {
	return cli.Run(ctx, env, root(env), args)
}

// options has the flags of the command line.
type options struct {
	ports     []uint
	nids      []string
	types     []string
	portals   []uint
	list      string // path of the file with the list of participants
	verbose   bool
	json      bool
	stats     bool
	analysis  analysisOptions
	follow    bool
	iface     string
	daemon    bool
	socket    string
	write     string
	arguments []string
}

func root(env cli.Env) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "lnetdump [FILE...]",
		Short: "Show the LNet messages of captures and live connections",
		Long: `Lnetdump reads captures (pcap or pcapng; "-" or no file is the standard input),
an interface, or the connections of a running lnetd, and prints a line for each
acceptor request, HELLO, NOOP and LNet message: the time, who sends to whom,
and what. Times are UTC.

It understands socklnd (TCP) in all its versions and ulnet's multicast (UDP, on
any port), o2iblnd over RoCEv2 (UDP port 4791) with its connection manager and its
transfers by RDMA, of which -v shows each packet, and what Lustre's selftest (portals
50 to 52), gossip (53), collectives (54 to 56), client health (57 and 58), zones (59)
and reliable multicast (60 to 62) say. Lost packets and connections that were open before the capture began
are reported; they do not stop it. A capture that ends inside a record, as one does
that is still being written, is printed as far as it goes, and that is no failure.

With --analyze it prints what was slow and what is missing: PUTs are paired with their
ACKs, GETs with REPLYs, requests of ptlrpc and selftest with their replies. There are
the distribution of the latencies, the slowest operations and those without an answer, what was sent
again, and for each two nodes their connections, reconnects, stalls and silences.`,
		Example: `  lnetdump --type put,get --portal 50 trace.pcap
  lnetdump -i eth0 -w trace.pcapng
  lnetdump --stats trace.pcapng
  lnetdump --analyze --plot trace.svg trace.pcapng
  lnetdump --analyze --follow -i eth0`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			o.arguments = args
			return o.run(c.Context(), env)
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.BoolVarP(&o.verbose, "verbose", "v", false, "print all fields, and where connections begin and end")
	f.BoolVar(&o.json, "json", false, "print a JSON object a line")
	f.BoolVar(&o.stats, "stats", false, "print sums instead of messages")
	o.analysis.flags(f)
	f.BoolVarP(&o.follow, "follow", "f", false, "read on at the end of a file, as long as it grows; with --analyze print a report every --interval")
	f.StringSliceVar(&o.nids, "nid", nil, "only what `NID` sends or gets (repeatable)")
	f.StringSliceVar(&o.types, "type", nil, "only `TYPE`: ack, put, get, reply, hello, noop, acceptor, cm, put_ack, put_nak, put_done, get_done (repeatable)")
	f.UintSliceVar(&o.portals, "portal", nil, "only PUTs and GETs to portal `N` and their ACKs and REPLYs (repeatable)")
	f.StringVar(&o.list, "members", "", "`NIDS` of a group of collectives in their order, if its list is not in the capture")
	f.UintSliceVar(&o.ports, "port", []uint{capture.AcceptPort}, "TCP `PORT` of the acceptors (repeatable)")
	f.StringVarP(&o.iface, "interface", "i", "", "listen on an `INTERFACE`; \"any\" is all of them")
	f.BoolVar(&o.daemon, "daemon", false, "watch the lnetd of this machine")
	f.StringVar(&o.socket, "socket", "", "watch the lnetd with the control socket `PATH`")
	f.StringVarP(&o.write, "write", "w", "", "write the packets to `FILE` (pcapng; \"-\" is the standard output) and print nothing but --stats or --analyze")
	return c
}
