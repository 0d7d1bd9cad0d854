// Command demo shows LNet nodes at work on this machine. It starts three lnetd on loopback
// addresses, makes them exchange messages with lnetctl, as a person would, and shows with
// lnetdump, and with tshark if that is installed, what they sent over the network. Three test
// nodes measure the network between them with lst. Three more daemons detect by gossip that one of
// them dies and comes back. Lnetsim simulates a thousand nodes in virtual time. Eight daemons get a
// broadcast over a tree, and one of them dies before it answers. Three servers evict a client that
// was killed, all at the same time. A zone of 24 loses two members, and its supervisor counts the
// remaining ones. Eight daemons form a multicast group that loses datagrams. All of that runs on TCP
// or, with --net o2ib, on RDMA in software.
//
// The commands are expected in the folder of demo itself (make build puts them there). All files
// of demo are in a temporary folder, which it removes at its end: on success, on failure and on
// an interrupt. The daemons end with demo even if demo is killed.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
)

// demoTimeout bounds the whole demonstration, which takes less than a minute on two cores and some
// minutes under the race detector.
const demoTimeout = 15 * time.Minute

func main() { os.Exit(run(context.Background(), cli.OS(), os.Args[1:])) }

func run(ctx context.Context, env cli.Env, args []string) int {
	return cli.Run(ctx, env, root(env), args)
}

func root(env cli.Env) *cobra.Command {
	var bin, capture, net string
	var only []string
	c := &cobra.Command{
		Use:     "demo",
		Short:   "Show three LNet nodes at work on this machine, and a thousand simulated ones",
		Example: "  demo --capture demo.pcapng\n  demo --net o2ib --act messages,zone",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), demoTimeout)
			defer cancel()
			return demonstrate(ctx, env, net, bin, capture, only)
		},
	}
	c.Flags().StringVar(&bin, "bin", besideSelf(), "folder of lnetd, lnetctl, lst, lnetsim, gossipctl, scollctl and lnetdump")
	c.Flags().StringVar(&net, "net", "tcp", "type of network: tcp, or o2ib for RDMA in software")
	c.Flags().StringVar(&capture, "capture", "", "keep the first node's capture of the act messages in this file")
	c.Flags().StringSliceVar(&only, "act", nil, "play only these `ACTS`, separated by commas: "+strings.Join(actNames(), ", "))
	return c
}

func besideSelf() string {
	self, err := os.Executable()
	if err != nil {
		return "bin"
	}
	return filepath.Dir(self)
}

func demonstrate(ctx context.Context, env cli.Env, net, bin, capture string, only []string) (err error) {
	for _, name := range only {
		if !slices.Contains(actNames(), name) {
			return cli.Usagef("--act: want some of %s, not %q", strings.Join(actNames(), ", "), name)
		}
	}
	// Pdeathsig kills a child process when the thread that has started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// If the reader of the output goes away, writes must fail. Otherwise SIGPIPE would end the
	// process before it has cleaned up.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	g, err := newGround(net)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "ulnet-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for i, a := range acts {
		if len(only) > 0 && !slices.Contains(only, a.name) {
			continue
		}
		l := &lab{ground: g, bin: bin, dir: filepath.Join(dir, a.name), size: a.size}
		if i == 0 {
			l.capture = cmp.Or(capture, filepath.Join(dir, "demo.pcapng"))
		}
		if err := a.perform(ctx, env.Stdout, l); err != nil {
			return err
		}
	}
	return nil
}

// act is one part of the demonstration, with daemons of its own.
type act struct {
	name   string                     // name of the act, and of its folder
	size   int                        // number of daemons
	config func(l *lab, i int) string // returns the configuration file of daemon i; nil: none has one
	play   func(ctx context.Context, w io.Writer, l *lab) error
}

var acts = []act{
	{"messages", 3, nil, messages},
	{"selftest", measuredNodes, selftestConfig, selftest},
	{"gossip", 3, nil, gossip},
	{"simulation", 0, nil, simulate},
	{"scoll", groupSize, groupConfig, collectives},
	{"health", wardServers + wardClients, wardConfig, clientHealth},
	{"zone", 1 + zoneMembers, zoneConfig, zones},
	{"rmcast", groupSize, castConfig, multicast},
}

// actNames returns the names of all acts.
func actNames() (names []string) {
	for _, a := range acts {
		names = append(names, a.name)
	}
	return names
}

// perform starts the daemons of an act, runs the act, and stops the daemons.
func (a *act) perform(ctx context.Context, w io.Writer, l *lab) (err error) {
	if err := os.Mkdir(l.dir, 0o700); err != nil {
		return err
	}
	if a.config != nil {
		l.config = func(i int) string { return filepath.Join(l.dir, fmt.Sprintf("%d.yaml", i)) }
		for i := range l.size {
			if err := os.WriteFile(l.config(i), []byte(a.config(l, i)), 0o600); err != nil {
				return err
			}
		}
	}
	defer func() { err = errors.Join(err, l.stop()) }()
	if err := l.start(ctx); err != nil {
		return err
	}
	return a.play(ctx, w, l)
}

// messages makes three nodes exchange messages, and shows the capture.
func messages(ctx context.Context, w io.Writer, l *lab) error {
	where := fmt.Sprintf("on port %d", l.port)
	if l.kind == "o2ib" {
		where = "on RDMA, in software over UDP port 4791"
	}
	fmt.Fprintf(w, "Three LNet nodes %s: %s, %s and %s. The first one captures.\n\n",
		where, l.nodes[0].nid, l.nodes[1].nid, l.nodes[2].nid)
	table, err := l.transfers(ctx)
	if werr := table.Print(w); err == nil {
		err = werr
	}
	if err != nil {
		return err
	}
	if err := l.stop(); err != nil {
		return err
	}
	return show(ctx, w, l)
}
