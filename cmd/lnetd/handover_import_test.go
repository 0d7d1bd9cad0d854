//go:build linux

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
)

// TestHandoverImported: lnet.conf has other tunables for an NI that the daemon's own file names, so a starting daemon stops
// the NI and starts it again. That works under a service manager, which has the sockets, too, and again in later daemons.
func TestHandoverImported(t *testing.T) {
	spec.Covers(t, "OP-80", "OP-84")
	t.Parallel()
	hosts, err := loopback.FreeHosts(1)
	if err != nil {
		t.Fatal(err)
	}
	port, err := loopback.FreePort(hosts...)
	if err != nil {
		t.Fatal(err)
	}
	imported := filepath.Join(t.TempDir(), "lnet.conf")
	text := "net:\n"
	for _, net := range []string{"tcp", "o2ib"} {
		text += fmt.Sprintf("- net type: %s\n  local NI(s):\n  - interfaces:\n      0: %v\n    tunables:\n      peer_credits: 16\n", net, hosts[0])
	}
	if err := os.WriteFile(imported, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	manager := lnetdtest.NewManager(t, 0)
	cfg := lnetdtest.Config{Networks: fmt.Sprintf("tcp(%v),o2ib(%v)", hosts[0], hosts[0]), Port: port, Manager: manager, Settings: []string{"lnet_conf: " + imported}}
	commands := lnetdtest.Build(t)
	d := commands.Start(t, cfg)
	for _, end := range []func(){func() { _ = d.Stop() }, func() { d.Kill() }, nil} {
		d.Until(time.Minute, "two sockets in the store", func() bool { return len(manager.Stored()) == 2 })
		if out, err := d.Lnetctl(t.Context(), "net", "show", "-v"); err != nil || strings.Count(out, "peer_credits: 16\n") != 2 {
			t.Errorf("%v, %s", err, out)
		}
		if end != nil {
			end()
			d = commands.Start(t, cfg)
		}
	}
}
