package route

import (
	"fmt"
	"slices"

	"ulnet/lnet/nid"
)

// maxHealth is the health of an NI that never failed (LNET_MAX_HEALTH_VALUE).
const maxHealth = 1000

// Settings are the tunables of routes. The zero value is not the default.
type Settings struct {
	// AvoidAsymmetric (avoid_asym_router_failure): a route with a single hop counts as
	// alive only while the gateway says that its NI on that net is up.
	AvoidAsymmetric bool
	// Sensitivity (router_sensitivity_percentage) is how healthy an NI of a gateway must be
	// to count as alive, in percent of the full health.
	Sensitivity int
	// CheckFirst (check_routers_before_use): routes are down until the first check.
	CheckFirst bool
}

// DefaultSettings returns the defaults of LNet.
func DefaultSettings() Settings { return Settings{AvoidAsymmetric: true, Sensitivity: 100} }

// NI is a network interface of a gateway.
type NI struct {
	NID    nid.NID // NID of the NI
	Down   bool    // the gateway said so in its latest ping info, or this node takes the NI for down
	Health int     // health of the NI, 0 to 1000
}

// alive reports whether an NI counts as alive (lnet_is_peer_ni_alive).
func (ni *NI) alive(s *Settings) bool {
	return !ni.Down && ni.Health*100 >= maxHealth*s.Sensitivity
}

// Gateway is what is known of a gateway.
type Gateway struct {
	Alive     bool // its last check succeeded, or a message from behind it came since
	Checked   bool // a check of the gateway has ended, or a ping info of it or a message from behind it has come
	Discovery bool // discovery is on, at this node and at the gateway, so that the fields below are up to date
	Routes    bool // the gateway's ping info says that it forwards
	Cut       bool // this node has no NI on a net of the gateway
	NIs       []NI // NIs in the gateway's latest ping info; before the first one, only the NID by which the gateway is configured
}

// State says whether messages may go by a route.
type State struct {
	Alive     bool   // messages may take the route
	SingleHop bool   // the gateway is on the net, or the route says 1 hop
	Reason    string // why the route is down
}

// Judge says whether a route by the gateway is alive (lnet_is_route_alive). A gateway that was
// not checked yet counts as alive, unless Settings.CheckFirst is set. If discovery is off,
// kernels use a flag that they computed from the last answer to a ping. Here the answer itself
// is kept, and the health of the gateway's NIs does not count. Kernels remove the routes of a gateway
// together with its net; here they stay, down, until the node is on a net of the gateway again.
func (g *Gateway) Judge(r Route, s Settings) State {
	v := State{SingleHop: r.Hops == 1 || g.isOn(r.Net)}
	switch {
	case g.Cut:
		v.Reason = "this node has no NI on a net of the gateway"
	case !g.Checked && s.CheckFirst:
		v.Reason = "the gateway was not checked yet (check_routers_before_use)"
	case !g.Alive:
		v.Reason = "the gateway did not answer its last check"
	case !g.Checked:
		v.Alive = true
	case !g.anyAlive(r.Gateway.Net(), &s):
		v.Reason = fmt.Sprintf("no NI of the gateway on %v is up and healthy", r.Gateway.Net())
	case s.AvoidAsymmetric && v.SingleHop && !g.anyAlive(r.Net, &s):
		v.Reason = fmt.Sprintf("no NI of the gateway on %v is up and healthy (avoid_asym_router_failure)", r.Net)
	case !g.Routes:
		v.Reason = "the gateway says that it does not route"
	default:
		v.Alive = true
	}
	return v
}

func (g *Gateway) isOn(net nid.Net) bool {
	return slices.ContainsFunc(g.NIs, func(ni NI) bool { return ni.NID.Net() == net })
}

// anyAlive reports whether an NI of the gateway on a net is alive (lnet_is_gateway_net_alive).
func (g *Gateway) anyAlive(net nid.Net, s *Settings) bool {
	for i := range g.NIs {
		ni := g.NIs[i]
		if !g.Discovery {
			ni.Health = maxHealth
		}
		if ni.NID.Net() == net && ni.alive(s) {
			return true
		}
	}
	return false
}

// Revive notes that a message from a node on the net beyond has come by the gateway's NI via:
// the gateway is alive, and so are its NIs on that net (lnet_parse). It reports whether that
// is a change.
func (g *Gateway) Revive(via nid.NID, beyond nid.Net) bool {
	if g.Alive {
		return false
	}
	g.Alive = true
	for i := range g.NIs {
		if ni := &g.NIs[i]; ni.NID == via || ni.NID.Net() == beyond {
			ni.Down = false
		}
	}
	return true
}
