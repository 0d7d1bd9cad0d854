package config

import (
	"slices"
	"strings"
	"testing"
)

// TestMetricsAddress: a port is a number or a text, and what is no address is an error with its
// position.
func TestMetricsAddress(t *testing.T) {
	for text, want := range map[string]string{
		"9420": "9420", "'9420'": "9420", ":9420": ":9420", "0.0.0.0:9420": "0.0.0.0:9420", "/run/m": "/run/m", "unix:m": "unix:m", `""`: "",
	} {
		c := Default()
		if _, err := c.parse("f", []byte("metrics: "+text+"\nmetrics_hosts: a  b.c\n")); err != nil || c.Metrics != want {
			t.Errorf("%s: %q, %v", text, c.Metrics, err)
		}
		if hosts := c.MetricsHosts(); !slices.Equal(hosts, []string{"a", "b.c"}) {
			t.Errorf("hosts %q", hosts)
		}
	}
	for _, text := range []string{"65536", "-1", "1.5", "true", "example.org:1", "[]", "9420 x"} {
		c := Default()
		if _, err := c.parse("f", []byte("metrics: "+text+"\n")); err == nil || !strings.HasPrefix(err.Error(), "f:1:10: metrics: ") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestMetricsPage: metrics_page has one of three values.
func TestMetricsPage(t *testing.T) {
	for text, want := range map[string]string{"": PageLocal, "metrics_page: on\n": PageOn, "metrics_page: off\n": PageOff, "metrics_page: local\n": PageLocal} {
		c := Default()
		if _, err := c.parse("f", []byte(text)); err != nil || c.MetricsPage != want {
			t.Errorf("%q: %q, %v", text, c.MetricsPage, err)
		}
	}
	c := Default()
	if _, err := c.parse("f", []byte("metrics_page: yes\n")); err == nil || !strings.Contains(err.Error(), "f:1:15: metrics_page: want local, on or off") {
		t.Error(err)
	}
}
