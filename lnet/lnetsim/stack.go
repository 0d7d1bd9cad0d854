package lnetsim

import (
	"context"
	"fmt"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lo"
	"ulnet/lnd/simlnd"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// StackConfig configures the LNet stack of a host. The zero value of a field means LNet's
// default.
type StackConfig struct {
	// Discovery starts a discovery agent, as every kernel has one. Without it the stack only
	// answers pings.
	Discovery          bool
	TransactionTimeout time.Duration // transaction timeout of LNet
	Tunables           lnd.Tunables  // tunables of the NIs
	// Interfaces are the NIs, in order; one by rail 0 on simlnd.Net if there are none.
	Interfaces []Interface
	Routes     []route.Route // routes to other nets; their gateways are checked if there is Discovery
	Router     bool          // the node forwards messages between its nets from the start
	// CheckInterval is how often gateways are checked. A router takes a net for down after
	// twice that without a ping. 0: LNet's times.
	CheckInterval time.Duration
}

// Interface is the place of an NI of a stack: a net, and a rail of the host.
type Interface struct {
	Net  nid.Net     // net of the interface, of type TCP
	Rail simlnd.Rail // rail of the host, from 0
}

// Stack is portals and LNet on a simulated host.
type Stack struct {
	Host  *simlnd.Host     // host of the stack
	Node  *lnet.Node       // LNet of the stack
	Table *portals.Table   // portals of the stack
	Agent *discovery.Agent // discovery agent; nil without discovery

	nis []railNI
}

// NewStack builds a stack. It is called in simlnd.Config.Boot.
func NewStack(h *simlnd.Host, cfg StackConfig) (*Stack, error) {
	s := &Stack{Host: h}
	s.Node = lnet.New(lnet.Config{
		Incarnation: h.LNetIncarnation(), Clock: h.Clock(), TransactionTimeout: cfg.TransactionTimeout,
		RouterSilence: 2 * cfg.CheckInterval,
	})
	s.Table = portals.New(s.Node)
	if _, err := s.Node.AddNI(lo.Driver{}, lnd.Config{}); err != nil {
		return nil, fmt.Errorf("loopback: %w", err)
	}
	var err error
	if cfg.Discovery {
		limits := discovery.Limits{Timeout: cfg.TransactionTimeout}
		s.Agent, err = discovery.New(s.Table, discovery.Config{
			Limits: limits, CheckInterval: cfg.CheckInterval, CheckTimeout: cfg.CheckInterval,
		})
	} else {
		_, err = discovery.NewTarget(s.Table)
	}
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	interfaces := cfg.Interfaces
	if len(interfaces) == 0 {
		interfaces = []Interface{{simlnd.Net, 0}}
	}
	for _, at := range interfaces {
		ni, err := s.Node.AddNI(h.Driver(), lnd.Config{Net: at.Net, Interface: fmt.Sprintf("eth%d", at.Rail), Tunables: cfg.Tunables})
		if err != nil {
			return nil, err
		}
		s.nis = append(s.nis, railNI{at.Rail, ni})
	}
	return s, s.route(cfg)
}

// route gives the stack its routes, and makes it a router.
func (s *Stack) route(cfg StackConfig) (err error) {
	if len(cfg.Routes) > 0 {
		_, err = s.Node.ApplyRoutes(cfg.Routes)
	}
	if err == nil && cfg.Router {
		err = s.Node.StartAsRouter()
	}
	return err
}

// railNI is an NI together with its rail.
type railNI struct {
	rail simlnd.Rail
	ni   *lnet.NI
}

// Ping pings the LNet of a node and ignores the answer. It stands for a ping by another program
// of this node.
func (s *Stack) Ping(id nid.NID) {
	discovery.StartPing(s.Table, nid.ProcessID{NID: id, PID: nid.LustrePID}, discovery.PingOptions{}, func(wire.PingInfo, error) {})
}

// Close shuts the stack down without waiting for messages to be sent. Call it in
// simlnd.Host.Do.
func (s *Stack) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if s.Agent != nil {
		_ = s.Agent.Close(ctx)
	}
	return s.Node.Shutdown(ctx)
}

// Credits compares the stack's credits and router buffers with their initial number. missing
// is how many are not back, queued how many messages wait; both are 0 when nothing is in flight.
func (s *Stack) Credits() (missing, queued int) {
	snapshot := s.Node.Snapshot()
	for _, p := range snapshot.Peers {
		missing += p.MaxCredits - p.Credits - p.Queued
		queued += p.Queued + p.Parked
	}
	for _, ni := range snapshot.NIs {
		missing += ni.Tunables.Credits - ni.Credits
	}
	r := s.Node.Router().Buffers
	return missing + r.Tickets - r.Waiting, queued + r.Waiting // each ticket has a buffer and a router credit, or waits
}

// MinCredits is the lowest number of credits that a peer ever had; negative if messages waited
// for one. some is false if the stack has no peer.
func (s *Stack) MinCredits() (least int, some bool) {
	for _, p := range s.Node.Snapshot().Peers {
		if !some || p.MinCredits < least {
			least, some = p.MinCredits, true
		}
	}
	return least, some
}
