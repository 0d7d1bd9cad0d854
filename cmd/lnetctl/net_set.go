package main

import (
	"fmt"
	"math"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// netSetting are the flags of 'net set' and 'peer set'.
type netSetting struct {
	nid, net            string
	all                 bool
	health, conns, wait int
	peer                bool
	state               string // new bits of a peer's state; empty: the bits stay as they are
}

func netSet(g *globals) *cobra.Command {
	s := new(netSetting)
	c := &cobra.Command{
		Use:   "set {--nid NID | --all} [--health VALUE] [--conns-per-peer N] | --net NET --lnd-timeout SECONDS",
		Short: "Change an interface of the running node: its health, connections and time-outs",
		Long: `Sets the health of an interface, or of all, 0 to 1000: messages prefer what is
healthier, and what is below 1000 is pinged until it is well again. --conns-per-peer
holds for connections to peers that are made from now on; 0 leaves it to the speed
of the link. --lnd-timeout is how long the driver of all networks of a type tries; where lnetd's
configuration gives the driver a time-out of its own, such as sock_timeout, that wins, and the
command fails. What --lnd-timeout sets ends with lnetd: sock_timeout or o2ib.timeout in the
configuration keeps one.`,
		Example: "  lnetctl net set --nid 10.0.0.2@tcp --health 0",
		Args:    cli.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return s.run(c, g) },
	}
	s.add(c, "all interfaces")
	c.Flags().StringVar(&s.net, "net", "", "`NET` whose type --lnd-timeout is for")
	c.Flags().IntVarP(&s.conns, "conns-per-peer", "m", 0, "`N` connections of each kind to a peer, up to 127")
	c.Flags().IntVar(&s.wait, "lnd-timeout", 0, "`SECONDS` for which a driver tries")
	return c
}

// peerSet returns the command 'peer set'.
func peerSet(g *globals) *cobra.Command {
	s := &netSetting{peer: true}
	c := &cobra.Command{
		Use:   "set {--nid NID | --all} --health VALUE | --nid NID --state BITS",
		Short: "Set the health of an interface of a peer, 0 to 1000",
		Long: `Sets the health of an interface of a peer, or of all. Messages prefer what is healthier;
what is below 1000 is pinged until it is well again.

--state is for tests. It sets the bits of the peer's state, such as 1 for a Multi-Rail peer
that nobody has discovered; 'peer show -v' prints them. Discovery corrects them when it asks
the peer the next time, as 'discover --force' does at once.`,
		Example: "  lnetctl peer set --nid 10.0.0.2@tcp --health 0",
		Args:    cli.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return s.run(c, g) },
	}
	s.add(c, "all interfaces of all peers")
	c.Flags().StringVarP(&s.state, "state", "s", "", "`BITS` of the peer's state, a number; for tests")
	return c
}

// add adds the flags that net set and peer set share.
func (s *netSetting) add(c *cobra.Command, all string) {
	c.Flags().StringVarP(&s.nid, "nid", "n", "", "the interface with this `NID`")
	c.Flags().BoolVarP(&s.all, "all", "a", false, all)
	c.Flags().IntVarP(&s.health, "health", "t", -1, "the new `VALUE`")
}

// badSetting returns an error of 'net set' or 'peer set', both of which the kernel's tool calls net.
func badSetting(errno syscall.Errno, descr string, err error) error {
	if descr != "" {
		descr = fmt.Sprintf("%q", descr)
	}
	return plainError("net", "set", -int(errno), descr, err)
}

func (s *netSetting) run(c *cobra.Command, g *globals) error {
	given := c.Flags().Changed
	if given("lnd-timeout") {
		return s.tuneNet(c, g)
	}
	switch {
	case (s.nid == "") == !s.all:
		return badSetting(syscall.EINVAL, "", cli.Usagef("%s takes --nid NID or --all", c.CommandPath()))
	case given("state") && s.nid == "":
		return badSetting(syscall.EINVAL, "", cli.Usagef("--state takes one --nid NID"))
	case !given("health") && !given("conns-per-peer") && !given("state"):
		return badSetting(syscall.EINVAL, "", cli.Usagef("%s needs something to set, such as --health VALUE", c.CommandPath()))
	}
	var id nid.NID
	if s.nid != "" {
		var err error
		if id, err = parseNID(s.nid); err != nil {
			return badSetting(syscall.EINVAL, "", cli.Usagef("--nid: %w", err))
		}
	}
	if given("conns-per-peer") {
		if err := checkConns("set", s.conns); err != nil {
			return err
		}
		r := node.TuneRequest{NID: id, ConnsPerPeer: &s.conns}
		if given("health") { // one request, so that both settings change or neither
			r.Health = &s.health
		}
		return failing(node.OpTune.Call(c.Context(), g.client(), r), "set", "net", "cannot configure LNet NI")
	}
	if given("state") {
		return s.setState(c, g, id)
	}
	r := node.HealthRequest{Peer: s.peer, NID: id, Value: s.health}
	if err := node.OpHealth.Call(c.Context(), g.client(), r); err != nil {
		return failingPlainly(err, "net", "set", "cannot set the health: ")
	}
	return nil
}

// setState sets the bits of a peer's state, and its health if the flag for that is set.
func (s *netSetting) setState(c *cobra.Command, g *globals, id nid.NID) error {
	bits, err := strconv.ParseUint(s.state, 0, 32)
	if err != nil {
		return badSetting(syscall.EINVAL, "", cli.Usagef("--state takes a number, such as 1 or 0x111, not %q", s.state))
	}
	r := node.PeerStateRequest{NID: id, State: lnet.PeerFlags(bits)}
	if c.Flags().Changed("health") { // one request, so that both settings change or neither
		r.Health = &s.health
	}
	err = node.OpPeerState.Call(c.Context(), g.client(), r)
	return failingPlainly(err, "net", "set", "cannot set the state: ")
}

// tuneNet changes the timeout of a driver.
func (s *netSetting) tuneNet(c *cobra.Command, g *globals) error {
	if s.net == "" {
		return badSetting(syscall.EINVAL, "Specified --lnd-timeout without --net option", cli.Usagef("name a network, such as tcp"))
	}
	for _, name := range []string{"nid", "health", "conns-per-peer"} {
		if c.Flags().Changed(name) {
			return badSetting(syscall.EINVAL, "", cli.Usagef("--lnd-timeout is of all interfaces on %s: set --%s by a command of its own", s.net, name))
		}
	}
	net, err := nid.ParseNet(s.net)
	if err != nil {
		return badSetting(syscall.EINVAL, "Invalid network type: "+s.net, cli.Usagef("--net: %w", err))
	}
	err = node.OpTune.Call(c.Context(), g.client(), node.TuneRequest{Net: net.String(), Timeout: time.Duration(max(-1, min(s.wait, math.MaxInt32))) * time.Second})
	return failingPlainly(err, "net", "set", "cannot set the time-out: ")
}
