package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
)

// Bounds of the values that the kernel's tool accepts.
const (
	maxConnsPerPeer = 127
	maxTOS          = 255
)

// netChange are the flags of 'net add' and 'net del'.
type netChange struct {
	net, nid, ip2net string
	interfaces       []string
	own              node.NISettings

	peerTimeout, peerCredits, peerBufferCredits, credits, conns, tos int
}

func netAdd(g *globals) *cobra.Command {
	a := new(netChange)
	c := &cobra.Command{
		Use:   "add {--net NET --if INTERFACE | --nid NID | --ip2net RULES}",
		Short: "Start a network on an interface of the running node",
		Long: `Starts a network on one or several interfaces, or addresses, of the running
node, until it ends or 'net del' stops it; its configuration stays as it is.
Peers that the node has discovered are told. --nid names the network and a local
address at once; --ip2net takes the rules of the setting ip2nets, and starts the
networks of those that match an address of this host. All NIs start, or none.

The options for credits, time-outs and connections are those of the new
interfaces; what is absent is as in the configuration of lnetd. --cpt is kept and
shown, without effect.`,
		Example: "  lnetctl net add --net tcp1 --if eth1\n  lnetctl net add --nid 10.0.0.5@tcp2 --peer-credits 16",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := a.request(c)
			if err != nil {
				return err
			}
			warnOfCPT(c.ErrOrStderr(), a.own.CPT)
			return a.explain(node.OpAddNetworks.Call(c.Context(), g.client(), r))
		},
	}
	a.addNames(c)
	c.Flags().StringVarP(&a.ip2net, "ip2net", "p", "", "`RULES` such as 'tcp(eth0) 10.0.0.*'")
	c.Flags().IntVarP(&a.peerTimeout, "peer-timeout", "t", 0, "`SECONDS` after which a router takes a silent peer for down")
	c.Flags().IntVarP(&a.peerCredits, "peer-credits", "c", 0, "`N` messages in flight to a peer")
	c.Flags().IntVarP(&a.peerBufferCredits, "peer-buffer-credits", "b", 0, "`N` messages of a peer that are being forwarded")
	c.Flags().IntVarP(&a.credits, "credits", "r", 0, "`N` messages in flight of the interface")
	c.Flags().IntVarP(&a.conns, "conns-per-peer", "m", 0, "`N` connections of each kind to a peer, up to 127")
	c.Flags().IntVar(&a.tos, "tos", 0, "type of service of packets, `N` from 0 to 255")
	c.Flags().StringVarP(&a.own.CPT, "cpt", "s", "", "CPU `PARTITIONS`, as [0,1]; without effect")
	c.Flags().String("auth-key", "", "taken and ignored: `KEY` of networks kfi, which lnetd does not have")
	c.Flags().String("traffic-class", "", "taken and ignored: `CLASS` of networks kfi")
	c.Flags().Bool("skip-mr-route-setup", false, "taken and ignored: lnetd sets up no routes of the system")
	return c
}

// addNames adds the flags that say what to start or stop.
func (a *netChange) addNames(c *cobra.Command) {
	c.Flags().StringVarP(&a.net, "net", "n", "", "`NET`, such as tcp1")
	c.Flags().StringSliceVarP(&a.interfaces, "if", "i", nil, "`INTERFACE` or local address; several are separated by commas")
	c.Flags().StringVar(&a.nid, "nid", "", "`NID` of an interface, which names the network, too")
}

// request returns the networks to start.
func (a *netChange) request(c *cobra.Command) (r node.AddRequest, err error) {
	if err := a.settings(c); err != nil {
		return r, err
	}
	r.NISettings = a.own
	switch {
	case a.ip2net != "":
		r.IP2Nets = a.ip2net
		return r, nil
	case a.nid != "":
		id, err := parseNID(a.nid)
		if err != nil {
			return r, netlinkError("add", "net", -int(syscall.EINVAL), "cannot parse NID", cli.Usagef("--nid: %w", err))
		}
		r.Networks = fmt.Sprintf("%v(%s)", id.Net(), tree.AddrText(id))
		return r, checkNotLo("add", id.Net())
	case a.net == "":
		return r, errNoNet()
	}
	net, err := a.parseNet("add")
	if err != nil {
		return r, err
	}
	if len(a.interfaces) == 0 {
		return r, textError(exitInvalid, nil, "creating a local NI needs at least one interface").onStdout()
	}
	r.Networks = net.String() + "(" + strings.Join(a.interfaces, ",") + ")"
	list, err := networks.Parse(r.Networks)
	if err != nil {
		return r, cli.Usagef("--if: %w", err)
	}
	for i := range list {
		if list[i].Net != net { // a name such as "eth0),tcp1(eth1"
			return r, cli.Usagef("--if: %q is no interface of %v", strings.Join(a.interfaces, ","), net)
		}
	}
	return r, nil
}

func errNoNet() error {
	return textError(exitInvalid, nil, "missing mandatory parameters in NI config: 'network'").onStdout()
}

// parseNet parses the flag --net.
func (a *netChange) parseNet(section string) (nid.Net, error) {
	net, err := nid.ParseNet(a.net)
	if err == nil {
		return net, checkNotLo(section, net)
	}
	err = cli.Usagef("--net: %w", err)
	if at := strings.Index(a.net, "("); at > 0 {
		err = cli.Hint(err, "'net add --net %s --if %s' takes network and interface apart", a.net[:at], strings.Trim(a.net[at:], "()"))
	}
	if section == "del" {
		return net, netlinkError(section, "net", -int(syscall.EINVAL), "cannot del network", err)
	}
	if name := strings.TrimRight(a.net, "0123456789"); name != a.net {
		if _, typeErr := nid.ParseNet(name); typeErr == nil {
			return net, netlinkError(section, "net", -int(syscall.EINVAL), "LND type not supported", err)
		}
	}
	return net, netlinkError(section, "net", -int(syscall.ENOENT), "cannot parse net", err)
}

// checkNotLo refuses the loopback network, which every node has.
func checkNotLo(section string, net nid.Net) error {
	if net.Type() != nid.Lo {
		return nil
	}
	return netlinkError(section, "net", -int(syscall.ENODEV), "setting @lo not allowed", errLo)
}

var errLo = errors.New("lo belongs to every node")

// settings takes over the tunables that the flags set.
func (a *netChange) settings(c *cobra.Command) error {
	given := c.Flags().Changed
	for _, t := range []struct {
		name string
		from *int
		to   **int
	}{
		{"peer-timeout", &a.peerTimeout, &a.own.PeerTimeout},
		{"peer-credits", &a.peerCredits, &a.own.PeerCredits},
		{"peer-buffer-credits", &a.peerBufferCredits, &a.own.PeerBufferCredits},
		{"credits", &a.credits, &a.own.Credits},
	} {
		if given(t.name) {
			*t.to = t.from
		}
	}
	if given("tos") && (a.tos < -1 || a.tos > maxTOS) {
		e := plainError("ni", "add", -1, "Invalid ToS argument", cli.Usagef("--tos: want 0 to %d, not %d", maxTOS, a.tos))
		e.exit = exitInvalid
		return e
	}
	a.own.LND = map[string]int{}
	if given("tos") {
		a.own.LND["tos"] = a.tos
	}
	if given("conns-per-peer") {
		if err := checkConns("add", a.conns); err != nil {
			return err
		}
		a.own.LND["conns_per_peer"] = a.conns
	}
	return nil
}

func checkConns(section string, n int) error {
	if n >= 0 && n <= maxConnsPerPeer {
		return nil
	}
	return netlinkError(section, "net", -int(syscall.ERANGE), "failed to parse lnd tunables",
		cli.Usagef("--conns-per-peer: want 0 to %d, not %d", maxConnsPerPeer, n))
}

// explain gives an error of the node the text of the kernel's tool.
func (a *netChange) explain(err error) error {
	if a.ip2net != "" {
		return failing(err, "add", "net", "cannot setup ip2nets")
	}
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		return netlinkError("add", "net", -int(syscall.ENETDOWN), "cannot add LNet NI", err)
	}
	return failing(err, "add", "net", "cannot add LNet NI")
}

func netDel(g *globals) *cobra.Command {
	a := new(netChange)
	c := &cobra.Command{
		Use:   "del {--net NET [--if INTERFACE] | --nid NID}",
		Short: "Stop a network of the running node, or one of its interfaces",
		Long: `Stops all interfaces of a network, or one of them. What waits to be sent there may
leave before, for a few seconds; a warning says how much is lost. Peers that the node has
discovered are told.`,
		Example: "  lnetctl net del --net tcp1\n  lnetctl net del --net tcp --if eth1",
		Args:    cli.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return a.stop(c, g) },
	}
	a.addNames(c)
	return c
}

// stop stops a network, or interfaces of it.
func (a *netChange) stop(c *cobra.Command, g *globals) error {
	remove := func(r node.RemoveRequest) error {
		gone, err := node.OpRemoveNet.Call(c.Context(), g.client(), r)
		warnOfRemoval(c.ErrOrStderr(), gone.Warnings)
		return err
	}
	switch {
	case a.net == "" && a.nid == "":
		return errNoNet()
	case a.net != "" && a.nid != "":
		return textError(exitInvalid, nil, "--net is invalid with --nid option").onStdout()
	case a.nid != "":
		id, err := parseNID(a.nid)
		if err != nil {
			return netlinkError("del", "net", -int(syscall.EINVAL), "cannot parse NID", cli.Usagef("--nid: %w", err))
		}
		if err := checkNotLo("del", id.Net()); err != nil {
			return err
		}
		return failing(remove(node.RemoveRequest{Net: id.Net().String(), NID: id}), "del", "net", "cannot del LNet NI")
	}
	net, err := a.parseNet("del")
	if err != nil {
		return err
	}
	if len(a.interfaces) == 0 {
		err := remove(node.RemoveRequest{Net: net.String()})
		if errors.Is(err, syscall.ENOENT) {
			return netlinkError("del", "net", -int(syscall.EINVAL), "cannot del network", err)
		}
		return failing(err, "del", "net", "cannot del network")
	}
	return a.stopInterfaces(c, node.Remote(g.client()), net.String())
}

// stopInterfaces stops the interfaces of a network that the flags name.
func (a *netChange) stopInterfaces(c *cobra.Command, e *node.Editor, net string) error {
	for _, name := range a.interfaces {
		warnings, err := e.RemoveNI(c.Context(), net, &tree.NI{Interfaces: tree.Interfaces{name}})
		warnOfRemoval(c.ErrOrStderr(), warnings)
		if errors.Is(err, syscall.ENODEV) {
			return netlinkError("del", "net", -int(syscall.ENODEV), "cannot del LNet NI", err)
		}
		if err != nil {
			return failing(err, "del", "net", "cannot del LNet NI")
		}
	}
	return nil
}

// warnOfRemoval prints what went wrong when interfaces were removed.
func warnOfRemoval(w io.Writer, warnings []string) {
	for _, text := range warnings {
		fmt.Fprintln(w, "# lnetctl: removed, but: "+text)
	}
}

// warnOfCPT prints a warning that CPU partitions have no effect.
func warnOfCPT(w io.Writer, cpt string) {
	if cpt != "" {
		fmt.Fprintln(w, "# lnetctl: --cpt is kept and shown, without effect: the node has no CPU partitions")
	}
}
