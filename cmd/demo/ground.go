package main

import (
	"fmt"
	"net/netip"
	"strings"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/lndtest/loopback"
)

// maxNodes bounds the daemons of an act. One more node is this process.
const maxNodes = 1 + zoneMembers

// ground is the network that all acts use: its type, and its addresses.
type ground struct {
	kind  string // type of the network: tcp or o2ib
	hosts []netip.Addr
}

// newGround finds addresses. Nodes on TCP share a free port; over RDMA the port is RoCE's,
// which must be free at all addresses.
func newGround(kind string) (g ground, err error) {
	g.kind = kind
	switch kind {
	case "tcp":
		for i := range maxNodes {
			g.hosts = append(g.hosts, netip.AddrFrom4([4]byte{127, 0, 0, byte(i + 1)}))
		}
	case "o2ib":
		g.hosts, err = loopback.FreeHosts(maxNodes)
	default:
		err = cli.Usagef("--net: want tcp or o2ib, not %q", kind)
	}
	return g, err
}

// nid returns the NID of node i, counted from 0.
func (g ground) nid(i int) string { return fmt.Sprintf("%v@%s", g.hosts[i], g.kind) }

// first returns an expression for the NIDs of the first n nodes.
func (g ground) first(n int) string {
	return fmt.Sprintf("%s.[1-%d]@%s", strings.TrimSuffix(g.hosts[0].String(), ".1"), n, g.kind)
}

// networks returns the networks string of node i.
func (g ground) networks(i int) string { return fmt.Sprintf("%s(%v)", g.kind, g.hosts[i]) }
