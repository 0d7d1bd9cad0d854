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

// network is what the daemons of a whole-stack test are on.
type network struct {
	kind string // type of network: tcp or o2ib
	// brief asks for fewer daemons, and for what is worth its time again on
	// another network.
	brief bool
}

// testNetworks are those that whole-stack tests run on. What is above LNet is the same
// on all, and so the second is brief.
var testNetworks = []network{{kind: "tcp"}, {kind: "o2ib", brief: true}}

// onNetworks runs a test on every network, or in full on that of $ULNET_NET. A short run
// leaves out all but the first.
func onNetworks(t *testing.T, test func(t *testing.T, on network)) {
	t.Helper()
	testOn(t, testing.Short(), test)
}

// onFirst is onNetworks for a test of what stands above LNet, with many daemons: only a long
// run has it on networks after the first.
func onFirst(t *testing.T, test func(t *testing.T, on network)) {
	t.Helper()
	testOn(t, !effort.Long(), test)
}

// testOn runs a test on every network, or on the first alone.
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

// pick returns the one or the other number: in full, or brief.
func (n network) pick(full, brief int) int {
	if n.brief {
		return brief
	}
	return full
}

// eth0 is the network on the only interface of a host.
func (n network) eth0() string { return n.kind + "(eth0)" }

// nid is an address as a NID.
func (n network) nid(addr string) string { return addr + "@" + n.kind }

// eager are settings of a driver that gives up after a time-out and comes back soon.
// Over RDMA nothing tells that a process has died but a keepalive, which takes the
// place of the reset that a peer's kernel would send on TCP.
func (n network) eager(timeout, least, most time.Duration) []string {
	if n.kind == "o2ib" {
		return []string{"o2ib:", fmt.Sprintf("  timeout: %d", timeout/time.Second), "  keepalive: 1"}
	}
	return []string{
		fmt.Sprintf("sock_timeout: %d", timeout/time.Second),
		fmt.Sprintf("min_reconnectms: %d", least.Milliseconds()), fmt.Sprintf("max_reconnectms: %d", most.Milliseconds()),
	}
}

// identity is a setting of the section admin, under which actions run at the kernel's
// port: over RDMA that says nothing about a peer by default.
func (n network) identity() string {
	if n.kind == "o2ib" {
		return "    actions_without_identity: yes"
	}
	return "    actions_without_identity: no"
}

// restarted is why a connection ended whose peer has begun another incarnation.
func (n network) restarted() fmt.Stringer {
	if n.kind == "o2ib" {
		return o2iblnd.RefusedRestart
	}
	return socklnd.PeerRestarted
}

// fragment is the payload of multicast datagrams: packets of RDMA have powers of two.
func (n network) fragment() int {
	if n.kind == "o2ib" {
		return 900
	}
	return 1400
}
