package config

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"ulnet/cmd/internal/web"
)

// maxMetricsPeers bounds metrics_peers. With 10 000 peers, the answer to a scrape has some 10 MiB.
const maxMetricsPeers = 10_000

// metricsSettings returns the keys of metrics in a file.
func (c *Config) metricsSettings(file string) map[string]setting {
	return map[string]setting{
		"metrics":               metricsAddress(&c.Metrics),
		"metrics_peers":         number(&c.MetricsPeers, 0, maxMetricsPeers),
		"metrics_hosts":         text(&c.MetricsNames, nil),
		"metrics_page":          text(&c.MetricsPage, among(PageLocal, PageOn, PageOff)),
		"metrics_capture_token": tokenFile(&c.MetricsToken, file),
	}
}

// Bounds of a token, in bytes.
const (
	minToken = 32
	maxToken = 256
)

// tokenFile parses the path of a file with a token, relative to the folder of the configuration's
// file, and checks what is in it. It sets *path to a path under which the file can be read again later.
func tokenFile(path *string, file string) setting {
	return text(new(string), func(s string) error {
		if *path = ""; s == "" {
			return nil
		}
		*path = beside(file, s)
		_, err := ReadToken(*path)
		return err
	})
}

// ReadToken reads a file with a token: 32 to 256 printable characters of ASCII without blanks, on one
// line. Other users must not be able to read the file. Errors do not contain any of its text.
func ReadToken(path string) ([]byte, error) {
	text, err := readSecret(path)
	if err != nil {
		return nil, err
	}
	token := bytes.TrimRight(text, "\r\n")
	switch {
	case len(token) < minToken || len(token) > maxToken:
		return nil, fmt.Errorf("%s has a token of %d characters, want %d to %d: 'openssl rand -hex 32' makes one", path, len(token), minToken, maxToken)
	case bytes.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, fmt.Errorf("%s has characters that no token has: want letters, digits and signs of ASCII on one line", path)
	}
	return token, nil
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

func checkMetrics(s string) error {
	_, err := web.ParseAddress(s)
	return err
}

// MetricsHosts returns the names of this host that requests for metrics may have as their Host header.
func (c *Config) MetricsHosts() []string { return strings.Fields(c.MetricsNames) }
