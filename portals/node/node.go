// Package node starts a whole LNet node in one call, as a program needs it before it can use package portals
// or the protocols above: the message layer, the portal table, the loopback NI 0@lo, discovery, and the NIs
// of the networks that the program names, in this order. The order matters for two reasons. The answers of
// discovery to pings have a sequence number, which rises with each NI, and kernel nodes give the number 1 to
// the list with 0@lo alone. And a peer may send as soon as the first NI listens.
//
//	n, err := node.Start(node.Config{Networks: "tcp(eth0)"})
//	if err != nil {
//		return err
//	}
//	defer n.Close(ctx)
//	agent, err := zone.New(n.Table(), ...)
//
// Portal 0 of the table is discovery's. The package reads no file: lnetd is the daemon
// with a configuration, and is made of the same parts.
package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lo"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/socklnd"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/machine/timerfd"
	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// Config says which node to start. The zero value of a field means its default, and the zero Config means a
// node on LNet's own default network.
type Config struct {
	// Networks are the networks of the node and the interfaces or addresses for them, as in the
	// tunable of that name: tcp(eth0), tcp(10.0.0.1),o2ib(eth1). Default tcp, on an interface
	// that the driver chooses; lo starts a node that reaches only itself.
	Networks string
	// AcceptPort is the TCP port to listen at and to dial, the same on all nodes. Default
	// 988: a program needs privileges to use it, so other nodes trust the NID of a node that
	// does. Above 1023 any user of a host can pose as its node.
	AcceptPort uint16
	// DialOnly starts NIs on TCP without a listener. Such a node needs no privileges for a
	// port; peers reach it on the connections that it has opened.
	DialOnly bool

	Log      *slog.Logger  // log of the node; nil discards records
	Clock    machine.Clock // clock of the node; nil: Start makes a timerfd.Clock, which Close ends. Callers in a bubble of testing/synctest must set machine.RealClock()
	Tap      lnd.Tap       // gets the bytes of all NIs; nil captures nothing
	Tunables lnd.Tunables  // tunables of all NIs

	// Few programs set the fields below. A field above takes precedence, unless it is zero, over the field of
	// the same name in one of these structs.

	LNet      lnet.Config      // Incarnation is by default the wall clock in nanoseconds
	Discovery discovery.Config // discovery; the zero Limits.Timeout means the transaction timeout
	TCP       socklnd.Config   // configuration of all NIs on TCP
	O2IB      o2iblnd.Config   // configuration of all NIs on O2IB; zero Open means softroce's

	// Drivers are drivers of further types of networks, or replace the driver of TCP or O2IB.
	Drivers []lnd.Driver

	// Wrap gets every driver, that of 0@lo included, and returns the driver to use instead,
	// such as one that spoils messages on purpose. Nil: the drivers are used as they are.
	Wrap func(lnd.Driver) lnd.Driver
}

// withDefaults returns cfg with defaults in the fields that are zero.
func (cfg Config) withDefaults() Config {
	cfg.Networks = cmp.Or(cfg.Networks, "tcp")
	cfg.LNet.Incarnation = cmp.Or(cfg.LNet.Incarnation, uint64(time.Now().UnixNano()))
	if cfg.Clock != nil {
		cfg.LNet.Clock = cfg.Clock
	}
	if cfg.Log != nil {
		cfg.LNet.Log = cfg.Log
	}
	cfg.TCP.AcceptPort = cmp.Or(cfg.AcceptPort, cfg.TCP.AcceptPort)
	if cfg.DialOnly {
		cfg.TCP.Accept = socklnd.AcceptNone
	}
	if cfg.O2IB.Open == nil {
		cfg.O2IB.Open = softroce.Open
	}
	if cfg.Wrap == nil {
		cfg.Wrap = func(d lnd.Driver) lnd.Driver { return d }
	}
	return cfg
}

// Node is a running node. Methods are safe for concurrent use.
type Node struct {
	cfg       Config
	lnet      *lnet.Node
	table     *portals.Table
	discovery *discovery.Agent
	drivers   []driver // one for each network type, so that two NIs on one address share a listener
	links     links
	clock     *timerfd.Clock // clock that Start made, and Close ends; nil: the caller gave one
}

// Start starts a node. Errors: a *networks.Error if Networks cannot be parsed; a *[StartError],
// which says what to do, if an NI cannot start; or a driver's error about its configuration.
// After an error no part of the node is left running.
func Start(cfg Config) (*Node, error) {
	cfg = cfg.withDefaults()
	list, err := networks.Parse(cfg.Networks)
	if err != nil {
		return nil, err
	}
	n := &Node{}
	if cfg.LNet.Clock == nil {
		n.clock = timerfd.NewClock()
		cfg.LNet.Clock = n.clock
	}
	n.cfg, n.lnet = cfg, lnet.New(cfg.LNet)
	n.links.node = n
	n.table = portals.New(n.lnet)
	if err := n.start(list); err != nil {
		return nil, errors.Join(err, n.Close(context.Background())) // Close does not wait: there are no messages yet
	}
	return n, nil
}

// start adds 0@lo, discovery and the NIs of list.
func (n *Node) start(list []networks.Interface) error {
	_, err := n.lnet.AddNI(n.cfg.Wrap(lo.Driver{}), lnd.Config{Net: nid.Lo0().Net()})
	if err != nil {
		return err
	}
	if n.discovery, err = discovery.New(n.table, n.cfg.Discovery); err != nil {
		return err
	}
	if err := n.makeDrivers(); err != nil {
		return err
	}
	for _, i := range list {
		if _, err := n.AddNI(lnd.Config{Net: i.Net, Interface: i.Name}); err != nil {
			return err
		}
	}
	return nil
}

// Table returns the node's portal table, by which programs send and receive.
func (n *Node) Table() *portals.Table { return n.table }

// LNet returns the message layer below the table: NIs, peers and counters.
func (n *Node) LNet() *lnet.Node { return n.lnet }

// Discovery returns the agent that finds out about peers and answers their pings.
func (n *Node) Discovery() *discovery.Agent { return n.discovery }

// NIDs returns the NIDs of the node but 0@lo, in the order of its NIs.
func (n *Node) NIDs() []nid.NID {
	var nids []nid.NID
	for _, id := range n.lnet.IDs() {
		if !id.NID.IsLo() {
			nids = append(nids, id.NID)
		}
	}
	return nids
}

// Close stops the node; close the agents on it before. Messages that wait can still be sent
// until ctx ends, and the error says how many were not. Give ctx a deadline: a message to a
// peer that is gone waits for as long as the driver tries to reach it. Calls that wait for
// events of the table return.
//
// A ctx that cannot end counts as one that ends after two minutes. Close waits for running
// event handlers, but no longer than five seconds after the end of ctx. After that it returns
// an error that says so, and the handler goes on in its goroutine. The same can happen if a
// handler calls Close.
func (n *Node) Close(ctx context.Context) error {
	if n.clock != nil {
		defer n.clock.Close()
	}
	defer n.table.Close()
	if ctx.Done() == nil {
		bounded, cancel := context.WithCancelCause(ctx)
		defer n.lnet.Clock().AfterFunc(closeWithin, func() { cancel(errNoEnd) }).Stop()
		ctx = bounded
	}
	ended := make(chan error, 1)
	go func() { ended <- n.shutdown(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	late := make(chan struct{})
	defer n.lnet.Clock().AfterFunc(stuckAfter, func() { close(late) }).Stop()
	select {
	case err := <-ended:
		return err
	case <-late:
		return fmt.Errorf("a handler of events has not returned, see the goroutines of the process: %w", context.Cause(ctx))
	}
}

// shutdown stops the parts of the node. It may call handlers, such as those of messages that wait for discovery.
func (n *Node) shutdown(ctx context.Context) error {
	if n.discovery != nil {
		_ = n.discovery.Close(ctx) // close discovery first: otherwise it would tell all peers of each NI that is removed
	}
	return errors.Join(n.links.close(), n.lnet.Shutdown(ctx))
}

// stuckAfter is how long after the end of its context Close waits for handlers.
const stuckAfter = 5 * time.Second

// closeWithin is how long Close lets messages leave if its context cannot end.
const closeWithin = 2 * time.Minute

var errNoEnd = errors.New("the context of Close has no end, and two minutes have passed")
