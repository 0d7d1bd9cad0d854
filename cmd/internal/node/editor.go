package node

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/control"
	"ulnet/lnet/nid"
	"ulnet/lnet/udsp"
)

// An Editor changes the configuration of a node, either in this process or through a control
// socket. It is a tree.Target.
type Editor struct {
	Asker
	AddNetworks func(context.Context, AddRequest) error                       // calls the operation OpAddNetworks
	RemoveNet   func(context.Context, RemoveRequest) (RemovedNet, error)      // calls the operation OpRemoveNet
	AddRoutes   func(context.Context, AddRoutesRequest) error                 // calls the operation OpAddRoutes
	DelRoute    func(context.Context, RemoveRouteRequest) error               // calls the operation OpRemoveRoute
	Configure   func(context.Context, AddPeerRequest) error                   // calls the operation OpAddPeer
	Deconfigure func(context.Context, RemovePeerRequest) error                // calls the operation OpRemovePeer
	Change      func(context.Context, Setting) error                          // calls the operation OpSet
	ChangeAll   func(context.Context, SetTogether) error                      // calls the operation OpSetTogether
	AddRule     func(context.Context, AddUDSP) error                          // calls the operation OpAddUDSP
	DelRule     func(context.Context, RemoveUDSP) error                       // calls the operation OpRemoveUDSP
	PingNode    func(context.Context, PingRequest) (PingReply, error)         // calls the operation OpPing
	FindPeer    func(context.Context, DiscoverRequest) (DiscoverReply, error) // calls the operation OpDiscover
}

// Remote returns an editor of the node behind a control socket.
func Remote(c *control.Client) *Editor {
	return &Editor{
		Asker: Asker{
			Status:  ask(c, OpStatus),
			Peers:   func(ctx context.Context, r PeersRequest) (PeerPage, error) { return OpPeers.Call(ctx, c, r) },
			Routes:  ask(c, OpRoutes),
			Routing: ask(c, OpRouting),
			UDSP:    ask(c, OpUDSP),
		},
		AddNetworks: act(c, OpAddNetworks),
		RemoveNet:   func(ctx context.Context, r RemoveRequest) (RemovedNet, error) { return OpRemoveNet.Call(ctx, c, r) },
		AddRoutes:   act(c, OpAddRoutes), DelRoute: act(c, OpRemoveRoute),
		Configure: act(c, OpAddPeer), Deconfigure: act(c, OpRemovePeer),
		Change: act(c, OpSet), ChangeAll: act(c, OpSetTogether), AddRule: act(c, OpAddUDSP), DelRule: act(c, OpRemoveUDSP),
		PingNode: func(ctx context.Context, r PingRequest) (PingReply, error) { return OpPing.Call(ctx, c, r) },
		FindPeer: func(ctx context.Context, r DiscoverRequest) (DiscoverReply, error) { return OpDiscover.Call(ctx, c, r) },
	}
}

func ask[A any](c *control.Client, op control.Question[control.None, A]) func(context.Context) (A, error) {
	return func(ctx context.Context) (A, error) { return op.Call(ctx, c, control.None{}) }
}

func act[R any](c *control.Client, op control.Action[R]) func(context.Context, R) error {
	return func(ctx context.Context, r R) error { return op.Call(ctx, c, r) }
}

// Editor returns an editor of this node.
func (n *Node) Editor() *Editor {
	return &Editor{
		Asker: Asker{
			Status:  told(n.Status),
			Peers:   func(_ context.Context, r PeersRequest) (PeerPage, error) { return n.peersAsked(r) },
			Routes:  told(n.RoutesNow),
			Routing: told(n.Routing),
			UDSP:    told(n.UDSP),
		},
		AddNetworks: control.Act(n.AddNetworks), RemoveNet: n.RemoveNet,
		AddRoutes: control.Act(n.AddRoutes), DelRoute: control.Act(n.RemoveRoute),
		Configure: control.Act(n.AddPeer), Deconfigure: control.Act(n.RemovePeer),
		Change: control.Act(n.Set), ChangeAll: control.Act(n.SetTogether), AddRule: control.Act(n.AddUDSP), DelRule: control.Act(n.RemoveUDSP),
		PingNode: n.Ping, FindPeer: n.Discover,
	}
}

func told[A any](f func() A) func(context.Context) (A, error) {
	return func(context.Context) (A, error) { return f(), nil }
}

// AddNI implements tree.Target, like the methods below. If the file has the NID of an NI, the NI
// gets that NID, whatever its interface.
func (e *Editor) AddNI(ctx context.Context, net string, ni tree.NI) error {
	on, err := interfaceOf(net, ni)
	if err != nil {
		return err
	}
	err = e.AddNetworks(ctx, AddRequest{Networks: on.String(), NISettings: settingsOf(ni)})
	if errors.Is(err, syscall.ENETDOWN) && strings.Contains(err.Error(), "no such network interface") {
		return &tree.NoInterfaceError{Name: on.Name, Err: err}
	}
	return err
}

// settingsOf returns the settings that the file has for an NI.
func settingsOf(ni tree.NI) NISettings {
	s := NISettings{CPT: ni.CPT, LND: ni.LND.Numbers()}
	if t := ni.Tunables; t != nil {
		s.PeerTimeout, s.PeerCredits, s.PeerBufferCredits, s.Credits = t.PeerTimeout, t.PeerCredits, t.PeerBufferCredits, t.Credits
	}
	return s
}

// RemoveNI stops the NI that has the NID or, without one, was started on the interface.
func (e *Editor) RemoveNI(ctx context.Context, net string, ni *tree.NI) (warnings []string, err error) {
	if ni == nil {
		gone, err := e.RemoveNet(ctx, RemoveRequest{Net: net})
		return gone.Warnings, err
	}
	s, err := e.Status(ctx)
	if err != nil {
		return nil, err
	}
	if has := s.find(net, ni); has != nil {
		gone, err := e.RemoveNet(ctx, RemoveRequest{Net: net, NID: has.NID})
		return gone.Warnings, err
	}
	return nil, cli.Hint(cli.Errnof(syscall.ENODEV, "the node has no such interface on %s", net), "'lnetctl net show' lists the networks of the node")
}

// AddRoute adds a route.
func (e *Editor) AddRoute(ctx context.Context, r tree.Route) error {
	v, err := r.Value()
	if err != nil {
		return err
	}
	return e.AddRoutes(ctx, AddRoutesRequest{
		Nets: []string{r.Net}, Gateways: []string{r.Gateway.String()}, Hops: v.Hops, Priority: v.Priority, Sensitivity: v.Sensitivity,
	})
}

// AddRouteList adds routes, all or none.
func (e *Editor) AddRouteList(ctx context.Context, list []tree.Route) error {
	var r AddRoutesRequest
	for _, one := range list {
		one.State, one.Type, one.Cause = "", "", ""
		r.Routes = append(r.Routes, one)
	}
	return e.AddRoutes(ctx, r)
}

// RemoveRoute removes a route.
func (e *Editor) RemoveRoute(ctx context.Context, r tree.Route) error {
	return e.DelRoute(ctx, RemoveRouteRequest{Net: r.Net, Gateway: r.Gateway.String()})
}

// Set changes a setting.
func (e *Editor) Set(ctx context.Context, s tree.Setting) error {
	one, err := settingOf(s)
	if err != nil {
		return err
	}
	return e.Change(ctx, one)
}

// SetTogether changes settings of health, or numbers of router buffers, all or none.
func (e *Editor) SetTogether(ctx context.Context, list []tree.Setting) error {
	var r SetTogether
	for _, s := range list {
		one, err := settingOf(s)
		if err != nil {
			return err
		}
		r.Settings = append(r.Settings, one)
	}
	return e.ChangeAll(ctx, r)
}

// settingOf converts a setting of a file. EINVAL: the value does not fit in an int.
func settingOf(s tree.Setting) (Setting, error) {
	if int64(int(s.Value)) != s.Value {
		return Setting{}, cli.Errnof(syscall.EINVAL, "%s is %d, which is too large", s.Name, s.Value)
	}
	return Setting{Name: s.Name, Value: int(s.Value)}, nil
}

// AddUDSP adds a selection rule at the end.
func (e *Editor) AddUDSP(ctx context.Context, u tree.UDSP) error {
	r, err := u.Value()
	if err != nil {
		return err
	}
	return e.AddRule(ctx, AddUDSP{Rule: r})
}

// RemoveUDSP removes the selection rule with the same patterns.
func (e *Editor) RemoveUDSP(ctx context.Context, u tree.UDSP) error {
	r, err := u.Value()
	if err != nil {
		return err
	}
	has, err := e.UDSP(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(has.Rules, func(h udsp.Rule) bool { return samePatterns(h, r) })
	if i < 0 {
		return cli.Errnof(syscall.ENOENT, "there is no such rule")
	}
	return e.DelRule(ctx, RemoveUDSP{Index: i})
}

// AddPeer configures a peer.
func (e *Editor) AddPeer(ctx context.Context, p tree.Peer) error {
	return e.Configure(ctx, addPeerRequest(p))
}

func addPeerRequest(p tree.Peer) AddPeerRequest {
	return AddPeerRequest{Primary: p.Primary, NIDs: nidsOf(p), NonMR: !p.MultiRail}
}

// RemovePeer removes a peer with all its NIDs.
func (e *Editor) RemovePeer(ctx context.Context, p tree.Peer) error {
	return e.Deconfigure(ctx, RemovePeerRequest{Primary: p.Primary})
}

// nidsOf lists the NIDs of a peer besides its primary one.
func nidsOf(p tree.Peer) (ids []nid.NID) {
	for _, ni := range p.NIs {
		if ni.NID != p.Primary {
			ids = append(ids, ni.NID)
		}
	}
	return ids
}

// Ping pings a node.
func (e *Editor) Ping(ctx context.Context, id nid.NID) error {
	_, err := e.PingNode(ctx, PingRequest{Target: nid.ProcessID{NID: id, PID: nid.LustrePID}})
	return err
}

// Discover discovers a peer.
func (e *Editor) Discover(ctx context.Context, id nid.NID) error {
	_, err := e.FindPeer(ctx, DiscoverRequest{Target: id})
	return err
}
