package node

import (
	"context"

	"ulnet/cmd/internal/config/tree"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/router"
	"ulnet/lnet/udsp"
)

// An Asker reads the state of a node, either in this process or through a control socket.
type Asker struct {
	Status  func(context.Context) (Status, error)                 // calls the operation OpStatus
	Peers   func(context.Context, PeersRequest) (PeerPage, error) // calls the operation OpPeers
	Routes  func(context.Context) ([]RouteStatus, error)          // calls the operation OpRoutes
	Routing func(context.Context) (lnet.RouterSnapshot, error)    // calls the operation OpRouting
	UDSP    func(context.Context) (UDSP, error)                   // calls the operation OpUDSP
}

// Tree returns the configuration of the node with its state, as 'lnetctl export' prints it, with
// only the keys of Lustre's tool.
func (a Asker) Tree(ctx context.Context) (*tree.Tree, error) {
	s, err := a.Status(ctx)
	if err != nil {
		return nil, err
	}
	routes, err := a.Routes(ctx)
	if err != nil {
		return nil, err
	}
	routing, err := a.Routing(ctx)
	if err != nil {
		return nil, err
	}
	rules, err := a.UDSP(ctx)
	if err != nil {
		return nil, err
	}
	t := &tree.Tree{Net: NetTree(s, 2, udsp.List{}), Route: RouteTree(routes), Global: GlobalTree(s), UDSP: UDSPTree(rules)}
	t.Routing, t.Buffers = RoutingTree(routing)
	for page := (PeersRequest{Limit: MaxPeerPage}); ; {
		peers, err := a.Peers(ctx, page)
		if err != nil {
			return nil, err
		}
		t.Peer = append(t.Peer, PeerTree(peers, nid.NID{}, 2, udsp.List{})...)
		if peers.Next == nil {
			t.DropOurs()
			return t, nil
		}
		page.After = *peers.Next
	}
}

// RouteTree returns the routes with their states.
func RouteTree(list []RouteStatus) (routes []tree.Route) {
	for _, r := range list {
		one := tree.Route{Net: r.Net, Gateway: r.Gateway, Hop: new(r.Hops), Priority: new(r.Priority), State: r.State, Type: r.Type}
		if r.Sensitivity != 1 {
			one.Sensitivity = r.Sensitivity
		}
		routes = append(routes, one)
	}
	return routes
}

// GlobalTree returns the settings of the node.
func GlobalTree(s Status) *tree.Global {
	g, h := new(tree.Global), s.Health
	for _, f := range []tree.Setting{
		{Name: "numa_range", Value: int64(s.NUMARange)},
		{Name: "max_interfaces", Value: int64(s.MaxInterfaces)},
		{Name: "discovery", Value: oneIf(s.DiscoveryOn)},
		{Name: "drop_asym_route", Value: oneIf(s.Routing.DropAsymmetric)},
		{Name: "retry_count", Value: int64(h.RetryCount)},
		{Name: "transaction_timeout", Value: int64(h.TransactionTimeout.Seconds())},
		{Name: "health_sensitivity", Value: int64(h.Sensitivity)},
		{Name: "recovery_interval", Value: 1},
		{Name: "router_sensitivity", Value: int64(s.Routing.Sensitivity)},
		{Name: tree.ShownOnly, Value: int64(h.LNDTimeout().Seconds())},
		{Name: "response_tracking", Value: int64(s.ResponseTracking)},
		{Name: "recovery_limit", Value: int64(h.Recovery.Limit.Seconds())},
		{Name: "max_recovery_ping_interval", Value: int64(h.Recovery.MaxInterval.Seconds())},
		{Name: "avoid_asym_router_failure", Value: oneIf(s.Routing.AvoidAsymmetric)},
		{Name: "alive_router_check_interval", Value: int64(s.Routing.CheckInterval)},
		{Name: "router_ping_timeout", Value: int64(s.Routing.PingTimeout)},
	} {
		g.Set(f)
	}
	return g
}

func oneIf(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// RoutingTree returns the state of the node as a router, nil if it is none. If the node is no
// router, but its numbers of buffers were changed, these numbers are part of the configuration.
func RoutingTree(s lnet.RouterSnapshot) (*tree.Routing, *tree.Buffers) {
	buffers := &tree.Buffers{Tiny: &s.Config.Tiny, Small: &s.Config.Small, Large: &s.Config.Large}
	if s.Mode == router.Off {
		usual := router.Config{Memory: s.Config.Memory}.WithDefaults()
		if s.Config == usual {
			buffers = nil
		}
		return nil, buffers
	}
	return PoolsTree(s), buffers
}

// PoolsTree returns the state of the node as a router, also of a node that is none.
func PoolsTree(s lnet.RouterSnapshot) *tree.Routing {
	pool := func(p router.Buffers) tree.Pool {
		return tree.Pool{Pages: p.Pages, Buffers: p.Buffers, Credits: p.Credits, Min: p.MinCredits}
	}
	b := s.Buffers
	return &tree.Routing{
		Pools:  &tree.Pools{Tiny: pool(b.Tiny), Small: pool(b.Small), Large: pool(b.Large)},
		Enable: new(int(s.Mode)),
	}
}

// UDSPTree returns the selection rules.
func UDSPTree(u UDSP) (rules []tree.UDSP) {
	for i, r := range u.Rules {
		rules = append(rules, tree.UDSPOf(i, r))
	}
	return rules
}
