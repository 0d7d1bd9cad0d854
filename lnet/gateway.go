package lnet

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"ulnet/lnet/nid"
	"ulnet/lnet/path"
	"ulnet/lnet/route"
)

// gateways are the routes of a node, and what it knows of their gateways.
type gateways struct {
	dropAsymmetric atomic.Bool                            // lnet_drop_asym_route: drop a message that comes by a router which is no gateway to the net of the message's source
	byNID          atomic.Pointer[map[nid.NID][]*gateway] // gateways by each NID of their router; a router is several gateways if routes name several of its NIDs; nil: there are no routes. Replaced, never changed in place

	changing sync.Mutex // serializes changes of table and what follows from them; taken before mu

	mu       sync.Mutex
	table    route.Table    // table of routes; guarded by mu, like all fields below
	settings route.Settings // tunables of routes
	random   *rand.Rand
	routers  []*gateway // gateways in the order in which they were added
	watchers []func()
}

// gateway is a node that is the gateway of routes.
type gateway struct {
	nid   nid.NID // NID of the gateway as configured
	state route.Gateway
	ways  []*way                    // routes by this gateway; guarded by gateways.mu, like state
	nets  atomic.Pointer[[]nid.Net] // nets of ways, in order; replaced, never changed in place
	dead  atomic.Bool               // whether the gateway is down: the opposite of state.Alive
}

// way is a route with the state that the choice of paths reads.
type way struct {
	route.Route
	path *path.Gateway
	now  route.State
}

func (g *gateways) init(seed uint64) {
	g.settings = route.DefaultSettings()
	g.random = rand.New(rand.NewPCG(seed, 0))
}

// Route is a route of a node with its state.
type Route struct {
	route.Route
	route.State
}

// AddRoute adds a route (LNetAddRoute). The errors are those of [route.Table.Add].
func (n *Node) AddRoute(r route.Route) error { return n.AddRoutes([]route.Route{r}) }

// AddRoutes adds routes, all or none, as one change, which costs about as much as one call of AddRoute.
// The errors are those of [route.Table.AddAll].
func (n *Node) AddRoutes(list []route.Route) error {
	own := n.ownNIDs()
	return n.changeRoutes(func(g *gateways) error { return g.table.AddAll(list, own, g.random) })
}

// DeleteRoutes removes the routes for which del returns true, as one change, and returns them. del
// must not call methods of the node.
func (n *Node) DeleteRoutes(del func(route.Route) bool) (deleted []route.Route) {
	_ = n.changeRoutes(func(g *gateways) error { // changeRoutes returns the error of this function, which is always nil
		deleted = g.table.DeleteFunc(del)
		return nil
	})
	return deleted
}

// DeleteRoute removes a route. It returns ENOENT if there is no such route.
func (n *Node) DeleteRoute(net nid.Net, gateway nid.NID) error {
	return n.changeRoutes(func(g *gateways) error { return g.table.Delete(net, gateway) })
}

// ApplyRoutes adds the routes of list, as [route.Table.Apply] does.
func (n *Node) ApplyRoutes(list []route.Route) (a route.Applied, err error) {
	own := n.ownNIDs()
	err = n.changeRoutes(func(g *gateways) (err error) {
		a, err = g.table.Apply(list, own, g.random)
		return err
	})
	return a, err
}

func (n *Node) ownNIDs() (own []nid.NID) {
	for _, ni := range *n.nis.Load() {
		own = append(own, ni.nid)
	}
	return own
}

// Routes returns the routes by net, each net's in the order in which they are tried.
func (n *Node) Routes() []Route {
	g := &n.gateways
	g.mu.Lock()
	defer g.mu.Unlock()
	ways := g.ways()
	all := make([]Route, 0, g.table.Len())
	for _, r := range g.table.All() {
		all = append(all, Route{r, ways[r].now})
	}
	return all
}

// ways returns all routes with their states (see [way]), by route. The caller holds g.mu.
func (g *gateways) ways() map[route.Route]*way {
	ways := make(map[route.Route]*way, g.table.Len())
	for _, gw := range g.routers {
		for _, w := range gw.ways {
			ways[w.Route] = w
		}
	}
	return ways
}

// RouteSettings returns the tunables of routes in force.
func (n *Node) RouteSettings() (s route.Settings, dropAsymmetric bool) {
	n.gateways.mu.Lock()
	defer n.gateways.mu.Unlock()
	return n.gateways.settings, n.gateways.dropAsymmetric.Load()
}

// SetRouteSettings changes the tunables of routes. With dropAsymmetric (lnet_drop_asym_route)
// messages are dropped if they come by a router that is no gateway to the net of their
// source.
func (n *Node) SetRouteSettings(s route.Settings, dropAsymmetric bool) {
	n.gateways.dropAsymmetric.Store(dropAsymmetric)
	n.gateways.mu.Lock()
	n.gateways.settings = s
	n.gateways.mu.Unlock()
	n.judge(n.gateways.all()...)
}

// changeRoutes changes the table of routes, and everything that is derived from it.
func (n *Node) changeRoutes(change func(*gateways) error) error {
	g := &n.gateways
	g.changing.Lock()
	defer g.changing.Unlock()
	g.mu.Lock()
	err := change(g)
	if before := g.count(); err != nil && g.table.Len() == before {
		g.mu.Unlock()
		return err
	}
	paths := g.rebuild()
	g.mu.Unlock()
	n.SetRoutes(paths)
	g.index(n)
	n.learnedGateways(g.all())
	review(n.watches.all(), errNoRoute) // learnedGateways reviews them only if one of the routes that are left comes up or goes down
	n.tellRouteWatchers()
	return err
}

func (g *gateways) count() (routes int) {
	for _, gw := range g.routers {
		routes += len(gw.ways)
	}
	return routes
}

// rebuild makes the list of gateways and their routes from the table. It keeps the state of
// those that were there before. The caller holds g.mu.
func (g *gateways) rebuild() (paths []*path.Gateway) {
	old := make(map[nid.NID]*gateway, len(g.routers))
	ways := g.ways()
	for _, gw := range g.routers {
		old[gw.nid], gw.ways = gw, nil
	}
	found := make(map[nid.NID]*gateway)
	for _, r := range g.table.All() {
		gw := found[r.Gateway]
		if gw == nil {
			if gw = old[r.Gateway]; gw == nil {
				gw = &gateway{nid: r.Gateway, state: route.Gateway{Alive: true, NIs: []route.NI{{NID: r.Gateway}}}}
				g.routers = append(g.routers, gw)
			}
			found[r.Gateway] = gw
		}
		w := ways[r]
		if w == nil {
			w = &way{Route: r, path: &path.Gateway{Net: r.Net, Router: r.Gateway, Hops: max(r.Hops, 0), Priority: uint32(r.Priority)}}
			w.path.SetAlive(false) // a new route is down until judge has decided about it
		}
		gw.ways = append(gw.ways, w)
		paths = append(paths, w.path)
	}
	g.routers = slices.DeleteFunc(g.routers, func(gw *gateway) bool { return found[gw.nid] == nil })
	for _, gw := range g.routers {
		nets := make([]nid.Net, len(gw.ways))
		for i, w := range gw.ways {
			nets[i] = w.Net
		}
		gw.nets.Store(&nets)
	}
	return paths
}

func (g *gateways) all() []*gateway {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.routers)
}

// errNoRoute is the cause that a watcher of a process behind gateways is given when no route
// to the net of the process is alive any more.
var errNoRoute = fmt.Errorf("no route to its net is alive, see lnetctl route show: %w", syscall.EHOSTUNREACH)

// RoutedNets returns the nets to which there are routes, in order.
func (n *Node) RoutedNets() []nid.Net {
	n.gateways.mu.Lock()
	defer n.gateways.mu.Unlock()
	return n.gateways.table.Nets()
}

// GatewaysChecked reports whether every gateway has been checked once.
func (n *Node) GatewaysChecked() bool {
	n.gateways.mu.Lock()
	defer n.gateways.mu.Unlock()
	return !slices.ContainsFunc(n.gateways.routers, func(gw *gateway) bool { return !gw.state.Checked })
}

// OnRouteChange calls f after every change of the routes or of the NIDs of their gateways, and
// after each check of a gateway. f must not block.
func (n *Node) OnRouteChange(f func()) {
	n.gateways.mu.Lock()
	n.gateways.watchers = append(n.gateways.watchers, f)
	n.gateways.mu.Unlock()
}

func (n *Node) tellRouteWatchers() {
	n.gateways.mu.Lock()
	watchers := slices.Clone(n.gateways.watchers)
	n.gateways.mu.Unlock()
	for _, f := range watchers {
		f()
	}
}
