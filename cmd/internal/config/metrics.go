package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"ulnet/cmd/internal/web"
)

// maxMetricsPeers bounds metrics_peers. With 10 000 peers, the answer to a scrape has some 10 MiB.
const maxMetricsPeers = 10_000

// metricsSettings returns the keys of metrics.
func (c *Config) metricsSettings() map[string]setting {
	return map[string]setting{
		"metrics":       metricsAddress(&c.Metrics),
		"metrics_peers": number(&c.MetricsPeers, 0, maxMetricsPeers),
		"metrics_hosts": text(&c.MetricsNames, nil),
		"metrics_page":  text(&c.MetricsPage, checkPage),
	}
}

// metricsAddress parses a port, which YAML takes for a number, or another address.
func metricsAddress(to *string) setting {
	return setting{func(value ast.Node) error {
		if _, ok := value.(*ast.IntegerNode); !ok {
			return text(to, checkMetrics).put(value)
		}
		port, err := integer(value, 0, 65535)
		if err == nil {
			*to = strconv.Itoa(port)
		}
		return err
	}}
}

// Values of metrics_page.
const (
	PageLocal = "local" // the page is served if only programs on this host reach the address of metrics
	PageOn    = "on"    // it is served in any case
	PageOff   = "off"   // it is not served
)

func checkPage(s string) error {
	if s != PageLocal && s != PageOn && s != PageOff {
		return fmt.Errorf("want local, on or off, not %q", s)
	}
	return nil
}

func checkMetrics(s string) error {
	_, err := web.ParseAddress(s)
	return err
}

// MetricsHosts returns the names of this host that requests for metrics may have as their Host header.
func (c *Config) MetricsHosts() []string { return strings.Fields(c.MetricsNames) }
