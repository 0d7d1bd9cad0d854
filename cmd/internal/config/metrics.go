package config

import (
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
		"metrics_page":  onOff(&c.MetricsPage),
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

func checkMetrics(s string) error {
	_, err := web.ParseAddress(s)
	return err
}

// MetricsHosts returns the names of this host that requests for metrics may have as their Host header.
func (c *Config) MetricsHosts() []string { return strings.Fields(c.MetricsNames) }
