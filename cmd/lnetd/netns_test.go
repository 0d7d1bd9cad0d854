//go:build linux

package main_test

import (
	"strings"
	"testing"
	"time"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/netlab"
)

// twoHosts is lnetd on each of two hosts that are joined by a cable.
type twoHosts struct {
	a, b   *lnetdtest.Daemon
	hostB  *netlab.Host
	cable  *netlab.Cable
	aa, bb string // NIDs
}

func newTwoHosts(t *testing.T, commands lnetdtest.Commands) *twoHosts {
	t.Helper()
	lab := netlab.New(t)
	a, b := lab.Host("a"), lab.Host("b")
	h := &twoHosts{hostB: b, aa: "10.1.0.1@tcp", bb: "10.1.0.2@tcp"}
	h.cable = lab.Cable(a, "10.1.0.1/24", b, "10.1.0.2/24")
	start := func(host *netlab.Host) *lnetdtest.Daemon {
		return commands.Start(t, lnetdtest.Config{
			Networks: "tcp(eth0)", Port: kernelPort, Settings: []string{"sock_timeout: 2"}, Within: host.Do,
		})
	}
	h.a, h.b = start(a), start(b)
	return h
}

// ping has one daemon ping a NID.
func ping(t *testing.T, d *lnetdtest.Daemon, nid, timeout string) error {
	t.Helper()
	out, err := d.Lnetctl(t.Context(), "ping", "--timeout", timeout, nid)
	if err == nil && !strings.Contains(out, "- nid: "+nid) {
		t.Errorf("ping of %s answers without that NID:\n%s", nid, out)
	}
	return err
}

func mustPing(t *testing.T, d *lnetdtest.Daemon, nid string) {
	t.Helper()
	if err := ping(t, d, nid, "20s"); err != nil {
		t.Fatal(err)
	}
}

func wantNoAnswer(t *testing.T, d *lnetdtest.Daemon, nid string) {
	t.Helper()
	if err := ping(t, d, nid, "1s"); err == nil || !strings.Contains(err.Error(), "1 of 1 nodes did not answer") {
		t.Errorf("ping over a pulled cable: got %v, want no answer", err)
	}
}

// TestTwoHosts runs lnetd in two network namespaces with a cable in between.
func TestTwoHosts(t *testing.T) {
	commands := lnetdtest.Build(t)

	t.Run("ping each other", func(t *testing.T) {
		h := newTwoHosts(t, commands)
		mustPing(t, h.a, h.bb)
		mustPing(t, h.b, h.aa)
	})

	t.Run("unplugged before the first connection", func(t *testing.T) {
		h := newTwoHosts(t, commands)
		h.cable.Pull(h.hostB)
		wantNoAnswer(t, h.a, h.bb)
		h.cable.Plug(h.hostB)
		h.awaitPing(t, h.a, h.bb)
		h.awaitPing(t, h.b, h.aa)
	})

	t.Run("unplugged while connected", func(t *testing.T) {
		h := newTwoHosts(t, commands)
		mustPing(t, h.a, h.bb)
		mustPing(t, h.b, h.aa)
		h.cable.Pull(h.hostB)
		wantNoAnswer(t, h.a, h.bb)
		h.a.Until(30*time.Second, "end of the dead connections", func() bool { return h.a.Connections() == 0 })
		wantNoAnswer(t, h.a, h.bb)
		h.cable.Plug(h.hostB)
		h.awaitPing(t, h.a, h.bb)
		h.awaitPing(t, h.b, h.aa)
	})
}

// awaitPing pings until there is an answer: reconnection has pauses.
func (h *twoHosts) awaitPing(t *testing.T, d *lnetdtest.Daemon, nid string) {
	t.Helper()
	d.Until(30*time.Second, "answer of "+nid, func() bool { return ping(t, d, nid, "1s") == nil })
}
