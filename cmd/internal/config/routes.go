package config

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"ulnet/lnet/networks"
	"ulnet/lnet/route"
)

// Routes are the routes in the file, and their tunables.
type Routes struct {
	Routes              string        // routes: see route.Parse
	CheckFirst          bool          // check_routers_before_use: gateways are down until they answer
	AvoidAsymmetric     bool          // avoid_asym_router_failure: a route to a next net is down while its gateway reports its NIs on that net as down
	CheckInterval       time.Duration // alive_router_check_interval: time between two checks of a gateway, in seconds; 0: gateways are not checked
	RouterPingTimeout   time.Duration // router_ping_timeout: how long a gateway may take to answer a check, in seconds
	RouterSensitivity   int           // router_sensitivity_percentage: percentage of the full health that a gateway's NI needs to count as alive
	DropAsymmetricRoute bool          // lnet_drop_asym_route: drop messages that come through a router which is no gateway to the net of their source
}

func defaultRoutes() Routes {
	return Routes{
		AvoidAsymmetric: true, CheckInterval: route.DefaultCheckInterval,
		RouterPingTimeout: route.DefaultPingTimeout, RouterSensitivity: 100,
	}
}

// RouteSettings returns the tunables that decide which routes are alive.
func (r *Routes) RouteSettings() route.Settings {
	return route.Settings{AvoidAsymmetric: r.AvoidAsymmetric, Sensitivity: r.RouterSensitivity, CheckFirst: r.CheckFirst}
}

// routeSettings returns the keys of routes.
func (c *Config) routeSettings() map[string]setting {
	return map[string]setting{
		"routes":                   routes(&c.Routes.Routes),
		"check_routers_before_use": flag(&c.CheckFirst),
		"ip2nets":                  text(&c.IP2Nets, networks.CheckIP2Nets),
	}
}

// routes parses the tunable in the syntax of kernels, or a YAML list with an entry after each
// dash.
func routes(to *string) setting {
	return setting{func(value ast.Node) error {
		if block, ok := value.(*ast.LiteralNode); ok { // a block of lines after a |
			value = block.Value
		}
		if _, list := value.(*ast.SequenceNode); !list {
			return text(to, checkRoutes).put(value)
		}
		var lines []string
		err := entries(value, "a route", func(line string) error {
			lines = append(lines, line)
			return checkRoutes(line)
		})
		if err != nil {
			return err
		}
		*to = strings.Join(lines, "\n")
		return checkRoutes(*to) // checks the number of routes
	}}
}

func checkRoutes(s string) error {
	_, err := route.Parse(s)
	return err
}

// ResolveNetworks sets networks from ip2nets, if ip2nets is set. The function addrs returns the
// addresses of this host.
func (c *Config) ResolveNetworks(addrs func() ([]netip.Addr, error)) error {
	if c.IP2Nets == "" {
		return nil
	}
	local, err := addrs()
	if err != nil {
		return fmt.Errorf("ip2nets: the addresses of this host: %w", err)
	}
	c.Networks, err = networks.ForAddresses(c.IP2Nets, local)
	return err
}
