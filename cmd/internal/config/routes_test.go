package config_test

import (
	"net/netip"
	"testing"
	"time"

	"ulnet/cmd/internal/config"
)

func TestRoutes(t *testing.T) {
	wantConfig(t, "routes: tcp1 2 10.0.0.[1-2]@tcp:1\ncheck_routers_before_use: 1\navoid_asym_router_failure: 0\nalive_router_check_interval: 0\nrouter_ping_timeout: 5\nrouter_sensitivity_percentage: 50\nlnet_drop_asym_route: 1\n",
		func(c *config.Config) {
			c.Routes = config.Routes{
				Routes: "tcp1 2 10.0.0.[1-2]@tcp:1", CheckFirst: true, RouterPingTimeout: 5 * time.Second, RouterSensitivity: 50, DropAsymmetricRoute: true,
			}
		})
	wantConfig(t, "routes:\n  - tcp1 10.0.0.1@tcp\n  - tcp2 10.0.0.2@tcp # the second\n", func(c *config.Config) {
		c.Routes.Routes = "tcp1 10.0.0.1@tcp\ntcp2 10.0.0.2@tcp"
	})
	wantConfig(t, "routes: |\n  tcp1 10.0.0.1@tcp\n  tcp2 10.0.0.2@tcp\n", func(c *config.Config) {
		c.Routes.Routes = "tcp1 10.0.0.1@tcp\ntcp2 10.0.0.2@tcp\n"
	})
	wantConfig(t, "ip2nets: tcp(eth0) 10.0.0.*\n", func(c *config.Config) { c.IP2Nets = "tcp(eth0) 10.0.0.*" })
}

func TestRoutesErrors(t *testing.T) {
	for text, want := range map[string]string{
		"routes: tcp1\n": "f:1:9: routes: routes at line 1, character 5: want a gateway",
		"routes:\n  - tcp1 10.0.0.1@tcp\n  - tcp1 x@tcp\n": "f:3:5: routes: routes at line 1, character 6: ",
		"routes:\n  - 7\n":                       "f:2:5: routes: want text",
		"router_sensitivity_percentage: 101\n":   "f:1:32: router_sensitivity_percentage: want a whole number from 0 to 100",
		"ip2nets: tcp\n":                         "f:1:10: ip2nets: ip2nets at line 1, character 4: want a pattern of addresses",
		"ip2nets: tcp 10.0.0.*\nnetworks: tcp\n": "f:2:1: networks and ip2nets exclude each other",
		"networks: tcp\nip2nets: tcp 10.0.0.*\n": "f:1:1: networks and ip2nets exclude each other",
		"lnet_drop_asym_route: maybe\n":          "f:1:23: lnet_drop_asym_route: want",
		"alive_router_check_interval: -1\n":      "f:1:30: alive_router_check_interval: want",
	} {
		t.Run(text, func(t *testing.T) { wantRefused(t, text, want) })
	}
}

func TestResolveNetworks(t *testing.T) {
	c := config.Default()
	c.IP2Nets = "tcp(eth0) 10.0.0.*; tcp1(eth1) 10.1.0.*"
	if err := c.ResolveNetworks(func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("10.1.0.7")}, nil }); err != nil || c.Networks != "tcp1(eth1)" {
		t.Errorf("networks %q, %v", c.Networks, err)
	}
	if err := c.ResolveNetworks(func() ([]netip.Addr, error) { return nil, nil }); err == nil {
		t.Error("no address, and no error")
	}
}
