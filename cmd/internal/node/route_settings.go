package node

import (
	"time"

	"ulnet/lnet/route"
)

// RouteTunables are the tunables of routes in force, under the names and in the units of the
// kernel's module parameters.
type RouteTunables struct {
	DropAsymmetric  bool `json:"drop_asym_route"`             // messages are dropped if they come by a router that is no gateway to their source's net
	Sensitivity     int  `json:"router_sensitivity"`          // how healthy an NI of a gateway must be, in percent
	AvoidAsymmetric bool `json:"avoid_asym_router_failure"`   // a route of one hop is alive only while the gateway reports its NI on that net as up
	CheckInterval   int  `json:"alive_router_check_interval"` // time between two checks of a gateway, in seconds; 0: gateways are not checked
	PingTimeout     int  `json:"router_ping_timeout"`         // how long a gateway may take to answer a check, in seconds
}

// RouteSettings are the tunables of routes that Set changes, by name.
var RouteSettings = map[string]func(t *RouteTunables, value int){
	"drop_asym_route":             func(t *RouteTunables, v int) { t.DropAsymmetric = v == 1 },
	"router_sensitivity":          func(t *RouteTunables, v int) { t.Sensitivity = v },
	"avoid_asym_router_failure":   func(t *RouteTunables, v int) { t.AvoidAsymmetric = v == 1 },
	"alive_router_check_interval": func(t *RouteTunables, v int) { t.CheckInterval = v },
	"router_ping_timeout":         func(t *RouteTunables, v int) { t.PingTimeout = v },
}

// setRoutes changes a tunable of routes.
func (n *Node) setRoutes(s Setting, change func(*RouteTunables, int)) error {
	if err := checkBounds(s); err != nil {
		return err
	}
	n.changing.Lock()
	defer n.changing.Unlock()
	t := n.routeTunables()
	change(&t, s.Value)
	settings, _ := n.lnet.RouteSettings()
	settings.AvoidAsymmetric, settings.Sensitivity = t.AvoidAsymmetric, t.Sensitivity
	n.setRouteTunables(settings, t)
	return nil
}

// setRouteTunables applies tunables of routes.
func (n *Node) setRouteTunables(settings route.Settings, t RouteTunables) {
	n.lnet.SetRouteSettings(settings, t.DropAsymmetric)
	if before := n.routeTunables(); before.CheckInterval == t.CheckInterval && before.PingTimeout == t.PingTimeout {
		return
	}
	interval, timeout := time.Duration(t.CheckInterval)*time.Second, time.Duration(t.PingTimeout)*time.Second
	silence := interval + timeout
	if interval == 0 {
		interval, silence = -1, -1
	}
	n.base.Discovery().SetGatewayChecks(interval, timeout)
	n.lnet.SetRouterSilence(silence)
}

// routeTunables returns the tunables that are in force.
func (n *Node) routeTunables() RouteTunables {
	settings, drop := n.lnet.RouteSettings()
	interval, timeout := n.base.Discovery().GatewayChecks()
	return RouteTunables{
		DropAsymmetric: drop, Sensitivity: settings.Sensitivity, AvoidAsymmetric: settings.AvoidAsymmetric,
		CheckInterval: int(max(interval, 0) / time.Second), PingTimeout: int(timeout / time.Second),
	}
}
