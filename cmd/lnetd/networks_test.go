//go:build linux

package main_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/socklnd"
)

// network is the network of the daemons of a whole-stack test.
type network struct {
	kind string // type of network: tcp or o2ib
	// brief asks for fewer daemons, and for only those parts of the test that depend on the
	// network.
	brief bool
}

// testNetworks are the networks on which whole-stack tests run. The layers above LNet are the
// same on all of them, so the second one is brief.
var testNetworks = []network{{kind: "tcp"}, {kind: "o2ib", brief: true}}

// onNetworks runs a test on every network, but in a short run on the first one only. If $ULNET_NET
// is set, the test runs in full on that network alone.
func onNetworks(t *testing.T, test func(t *testing.T, on network)) {
	t.Helper()
	testOn(t, testing.Short(), test)
}

// onFirst runs a test of layers above LNet that needs many daemons: only a long run repeats it
// on the other networks.
func onFirst(t *testing.T, test func(t *testing.T, on network)) {
	t.Helper()
	testOn(t, !effort.Long(), test)
}

// testOn runs a test on every network. If first is true it skips the brief networks, which are all
// but the first one. If $ULNET_NET is set, the test runs in full on that network alone.
func testOn(t *testing.T, first bool, test func(t *testing.T, on network)) {
	t.Helper()
	list := testNetworks
	if only := os.Getenv("ULNET_NET"); only != "" {
		i := slices.IndexFunc(testNetworks, func(n network) bool { return n.kind == only })
		if i < 0 {
			t.Fatalf("ULNET_NET is %q: want tcp or o2ib", only)
		}
		list = []network{{kind: only}}
	}
	for _, on := range list {
		t.Run(on.kind, func(t *testing.T) {
			if on.brief && first {
				t.Skip("as on TCP, and left to longer runs")
			}
			test(t, on)
		})
	}
}

// pick returns the number full or, if the network is brief, the number brief.
func (n network) pick(full, brief int) int {
	if n.brief {
		return brief
	}
	return full
}

// eth0 returns the network on the only interface of a host, as lnetd's configuration writes it.
func (n network) eth0() string { return n.kind + "(eth0)" }

// nid returns the NID of an address.
func (n network) nid(addr string) string { return addr + "@" + n.kind }

// eager returns settings with which a driver gives up a connection after a timeout, and soon
// connects again. Over RDMA, only a keepalive shows that a process has died, whereas on TCP the
// peer's kernel would reset the connection.
func (n network) eager(timeout, least, most time.Duration) []string {
	if n.kind == "o2ib" {
		return []string{"o2ib:", fmt.Sprintf("  timeout: %d", timeout/time.Second), "  keepalive: 1"}
	}
	return []string{
		fmt.Sprintf("sock_timeout: %d", timeout/time.Second),
		fmt.Sprintf("min_reconnectms: %d", least.Milliseconds()), fmt.Sprintf("max_reconnectms: %d", most.Milliseconds()),
	}
}

// identity returns a setting of the section admin that allows actions when nodes use the
// kernel's port. Over RDMA, that port by itself does not prove a peer's identity.
func (n network) identity() string {
	if n.kind == "o2ib" {
		return "    actions_without_identity: yes"
	}
	return "    actions_without_identity: no"
}

// restarted returns the reason for which a connection ends when its peer begins another
// incarnation.
func (n network) restarted() fmt.Stringer {
	if n.kind == "o2ib" {
		return o2iblnd.RefusedRestart
	}
	return socklnd.PeerRestarted
}

// fragment returns the payload size of multicast datagrams: over RDMA it is a power of two.
func (n network) fragment() int {
	if n.kind == "o2ib" {
		return 900
	}
	return 1400
}
