package node

import (
	"fmt"
	"syscall"
	"time"

	"ulnet/lnet/route"
)

// RouteTunables are the tunables of routes in force, with the names that module parameters of
// kernels have, and the units.
type RouteTunables struct {
	DropAsymmetric  bool `json:"drop_asym_route"`             // see lnet.Node.SetRouteSettings
	Sensitivity     int  `json:"router_sensitivity"`          // percent
	AvoidAsymmetric bool `json:"avoid_asym_router_failure"`   // see route.Settings
	CheckInterval   int  `json:"alive_router_check_interval"` // seconds; 0: gateways are not checked
	PingTimeout     int  `json:"router_ping_timeout"`         // seconds
}

// RouteSetting is a tunable of routes that Set changes.
type RouteSetting struct {
	Least, Most int // bounds of the value of the setting
	set         func(t *RouteTunables, value int)
}

// RouteSettings are the tunables of routes that Set changes, by name.
var RouteSettings = map[string]*RouteSetting{
	"drop_asym_route":             {0, 1, func(t *RouteTunables, v int) { t.DropAsymmetric = v == 1 }},
	"router_sensitivity":          {0, 100, func(t *RouteTunables, v int) { t.Sensitivity = v }},
	"avoid_asym_router_failure":   {0, 1, func(t *RouteTunables, v int) { t.AvoidAsymmetric = v == 1 }},
	"alive_router_check_interval": {0, maxSetting, func(t *RouteTunables, v int) { t.CheckInterval = v }},
	"router_ping_timeout":         {1, maxSetting, func(t *RouteTunables, v int) { t.PingTimeout = v }},
}

// setRoutes changes a tunable of routes.
func (n *Node) setRoutes(s Setting, change *RouteSetting) error {
	if s.Value < change.Least || s.Value > change.Most {
		return fmt.Errorf("%s is %d to %d, not %d: %w", s.Name, change.Least, change.Most, s.Value, syscall.EINVAL)
	}
	n.changing.Lock()
	defer n.changing.Unlock()
	t := n.routeTunables()
	change.set(&t, s.Value)
	settings, _ := n.lnet.RouteSettings()
	settings.AvoidAsymmetric, settings.Sensitivity = t.AvoidAsymmetric, t.Sensitivity
	n.setRouteTunables(settings, t)
	return nil
}

// setRouteTunables puts tunables of routes in force.
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
