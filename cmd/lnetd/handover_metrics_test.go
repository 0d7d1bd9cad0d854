//go:build linux

package main_test

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
)

// TestMetricsHandover: a program that asks for the metrics while the daemon is down is not refused,
// and the next daemon answers, at a port and at the path of a Unix socket.
func TestMetricsHandover(t *testing.T) {
	spec.Covers(t, "OP-80", "OP-82", "OP-83")
	t.Parallel()
	own, local := netip.MustParseAddr("127.0.0.6"), netip.MustParseAddr("127.0.0.1")
	commands := lnetdtest.Build(t)
	for _, network := range []string{"tcp", "unix"} {
		port, err := loopback.FreePort(own, local)
		if err != nil {
			t.Fatal(err)
		}
		address := filepath.Join(t.TempDir(), "metrics.sock")
		if network == "tcp" {
			address = netip.AddrPortFrom(local, port).String()
		}
		manager := lnetdtest.NewManager(t, 0)
		cfg := lnetdtest.Config{Networks: "tcp(127.0.0.6)", Port: port, Manager: manager, Settings: []string{"metrics: " + address}}
		d := commands.Start(t, cfg)
		for _, end := range []func(){func() { _ = d.Stop() }, func() { d.Kill() }} {
			d.Until(time.Minute, "both sockets in the store", func() bool { return len(manager.Stored()) == 2 })
			end()
			c, err := net.Dial(network, address)
			if err != nil {
				t.Fatal("while the daemon is down: ", err)
			}
			d = commands.Start(t, cfg)
			if answer := answerFrom(t, c, "localhost"); !strings.HasPrefix(answer, "HTTP/1.1 404 ") {
				t.Errorf("%s: answer %q", address, answer)
			}
		}
		_ = d.Stop()
	}
}

// answerFrom sends a request with a Host header and returns the answer. The requested page does not
// exist, so the answer does not depend on how busy the daemon is.
func answerFrom(t *testing.T, c net.Conn, host string) string {
	t.Helper()
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := fmt.Fprintf(c, "GET /no-such-page HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host); err != nil {
		t.Error(err)
	}
	answer, err := io.ReadAll(c)
	if err != nil {
		t.Error(err)
	}
	return string(answer)
}

// TestReloadMetricsHosts: a reload sets the names by which requests for metrics may call the host.
func TestReloadMetricsHosts(t *testing.T) {
	spec.Covers(t, "OP-6")
	t.Parallel()
	own := netip.MustParseAddr("127.0.0.1")
	port, err := loopback.FreePort(own, netip.MustParseAddr("127.0.0.6"))
	if err != nil {
		t.Fatal(err)
	}
	address := netip.AddrPortFrom(own, port).String()
	d := lnetdtest.Build(t).Start(t, lnetdtest.Config{Networks: "tcp(127.0.0.6)", Port: port, Settings: []string{"metrics: " + address}})
	for _, test := range []struct{ hosts, answer string }{{"", "HTTP/1.1 403 "}, {"monitor.example", "HTTP/1.1 404 "}, {"other.example", "HTTP/1.1 403 "}} {
		text := fmt.Sprintf("metrics: %s\nmetrics_hosts: %q\n", address, test.hosts)
		if err := os.WriteFile(filepath.Join(d.RuntimeDir(), "lnetd.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := d.Lnetctl(t.Context(), "reload"); err != nil {
			t.Fatal(out, err)
		}
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if answer := answerFrom(t, c, "monitor.example"); !strings.HasPrefix(answer, test.answer) {
			t.Errorf("metrics_hosts %q: answer %q", test.hosts, answer)
		}
	}
}
