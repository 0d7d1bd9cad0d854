package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config/tree"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
)

// RouteStatus is a route and its state.
type RouteStatus struct {
	Net         string  `json:"net"`                // network that the route leads to
	Gateway     nid.NID `json:"gateway"`            // NID of the gateway, on a net of this node
	Hops        int     `json:"hop"`                // number of hops, 1 to 255; -1: undefined
	Priority    int     `json:"priority"`           // priority of the route; 0 is best
	Sensitivity int     `json:"health_sensitivity"` // by how much a failure lowers the gateway's health
	State       string  `json:"state"`              // up or down
	Type        string  `json:"type"`               // single-hop or multi-hop
	Cause       string  `json:"cause,omitempty"`    // reason of state down
}

// AddRoutesRequest names routes to add.
type AddRoutesRequest struct {
	Nets        []string     `json:"nets"`               // networks that the routes lead to, such as tcp1
	Gateways    []string     `json:"gateways"`           // NIDs; there will be a route from each net to each gateway
	Hops        int          `json:"hop"`                // number of hops, 1 to 255; -1: undefined
	Priority    int          `json:"priority"`           // priority of the routes; 0 is best
	Sensitivity int          `json:"health_sensitivity"` // health sensitivity, 1 or more
	Routes      []tree.Route `json:"routes,omitempty"`   // routes with values of their own, in place of all other fields
}

// RemoveRouteRequest names a route to remove.
type RemoveRouteRequest struct {
	Net     string `json:"net"`     // network that the route leads to, such as tcp1
	Gateway string `json:"gateway"` // NID of the gateway
}

// hintRoutes is the hint for most errors of routes.
const hintRoutes = "'lnetctl route show' lists the routes, 'lnetctl net show' the networks of the node"

// RoutesNow returns the routes of the node, by net.
func (n *Node) RoutesNow() []RouteStatus {
	list := make([]RouteStatus, 0)
	for _, r := range n.lnet.Routes() {
		s := RouteStatus{
			Net: r.Net.String(), Gateway: r.Gateway, Hops: r.Hops, Priority: r.Priority, Sensitivity: r.Sensitivity,
			State: "up", Type: "multi-hop", Cause: r.Reason,
		}
		if !r.Alive {
			s.State = "down"
		}
		if r.SingleHop {
			s.Type = "single-hop"
		}
		list = append(list, s)
	}
	return list
}

// AddRoutes adds routes, all or none, for the lifetime of the node. Errors have the errno of
// LNetAddRoute, see route.Table.Add.
func (n *Node) AddRoutes(r AddRoutesRequest) error {
	list, err := r.routes()
	if err != nil {
		return err
	}
	n.changing.Lock()
	defer n.changing.Unlock()
	if err := n.checkConfigured(syscall.ENETDOWN); err != nil {
		return err
	}
	if err := n.lnet.AddRoutes(list); err != nil {
		return cli.Hint(err, hintRoutes)
	}
	return nil
}

// routes returns the routes that a request names.
func (r AddRoutesRequest) routes() (list []route.Route, err error) {
	if len(r.Routes) > 0 && len(r.Routes) <= route.MaxRoutes && len(r.Nets)+len(r.Gateways) == 0 {
		for _, own := range r.Routes {
			one, err := own.Value()
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		return list, nil
	}
	if len(r.Nets) == 0 || len(r.Gateways) == 0 || len(r.Nets)*len(r.Gateways) > route.MaxRoutes {
		return nil, fmt.Errorf("want either nets and gateways or routes, for at most %d routes: %w", route.MaxRoutes, syscall.EINVAL)
	}
	for _, net := range r.Nets {
		for _, gateway := range r.Gateways {
			one := route.Route{Hops: r.Hops, Priority: r.Priority, Sensitivity: r.Sensitivity}
			if one.Net, one.Gateway, err = parseRoute(net, gateway); err != nil {
				return nil, err
			}
			list = append(list, one)
		}
	}
	return list, nil
}

func parseRoute(net, gateway string) (nid.Net, nid.NID, error) {
	to, err := nid.ParseNet(net)
	if err != nil {
		return to, nid.NID{}, fmt.Errorf("%w: %w", err, syscall.EINVAL)
	}
	by, err := nid.Parse(gateway)
	if err != nil {
		return to, by, fmt.Errorf("%w: %w", err, syscall.EINVAL)
	}
	return to, by, nil
}

// RemoveRoute removes a route. ENOENT means that there is none.
func (n *Node) RemoveRoute(r RemoveRouteRequest) error {
	to, by, err := parseRoute(r.Net, r.Gateway)
	if err != nil {
		return err
	}
	n.changing.Lock()
	defer n.changing.Unlock()
	err = n.lnet.DeleteRoute(to, by)
	if errors.Is(err, syscall.ENOENT) {
		err = cli.Errnof(syscall.ENOENT, "the node has no route to %v by %v", to, by)
	}
	if err != nil {
		return cli.Hint(err, hintRoutes)
	}
	return nil
}

// startRoutes gives the node the routes of its configuration. If check_routers_before_use is
// set, it waits until each gateway has been checked once.
func (n *Node) startRoutes() error {
	cfg := n.current.Load()
	list, err := cfg.AllRoutes()
	if err != nil {
		return err
	}
	applied, err := n.lnet.ApplyRoutes(list)
	if err != nil {
		return cli.Hint(err, hintRoutes)
	}
	n.logPassed(applied.Passed)
	if applied.Router && cfg.Forwarding != "disabled" { // the routes say that the node is a gateway of other nodes
		if err := n.lnet.StartAsRouter(); err != nil {
			return err
		}
	}
	if cfg.CheckFirst && cfg.CheckInterval > 0 {
		n.awaitGateways()
	}
	return nil
}

// logPassed logs which routes of the configuration are not used, and why. They may be intended,
// because the nodes of a cluster may share one list; but a route with a wrong name of a net is
// not used either.
func (n *Node) logPassed(passed []error) {
	const most = 8 // largest number of lines in the log
	for _, why := range passed[:min(most, len(passed))] {
		n.cfg.Log.Info("a route of the configuration is not used", slog.Any("why", why))
	}
	if more := len(passed) - most; more > 0 {
		n.cfg.Log.Info("more routes of the configuration are not used; 'lnetctl route show' lists those that are", slog.Int("routes", more))
	}
}

// awaitGateways waits until each gateway was checked once, or router_ping_timeout.
func (n *Node) awaitGateways() {
	ctx, cancel := context.WithTimeout(context.Background(), n.cfg.RouterPingTimeout)
	defer cancel()
	changed := make(chan struct{}, 1)
	n.lnet.OnRouteChange(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	for !n.lnet.GatewaysChecked() {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// LocalAddresses returns the addresses of this host.
func LocalAddresses() (addrs []netip.Addr, err error) {
	list, err := net.InterfaceAddrs()
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			addrs = append(addrs, p.Addr())
		}
	}
	return addrs, err
}
