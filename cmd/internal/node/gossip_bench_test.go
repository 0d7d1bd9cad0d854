package node_test

import (
	"net/netip"
	"strings"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/loopback"
)

// BenchmarkGossipFiles is what the state files of a thousand participants cost
// once a second, without the writing.
func BenchmarkGossipFiles(b *testing.B) {
	port, err := loopback.FreePort(netip.MustParseAddr(address))
	if err != nil {
		b.Fatal(err)
	}
	cfg := config.Default()
	cfg.Networks, cfg.AcceptPort = "tcp("+address+")", int(port)
	n, err := node.New(node.Config{Config: cfg})
	if err != nil {
		b.Fatal(err)
	}
	defer n.Shutdown(b.Context())
	slow := node.NewGossipInit(config.Default().Gossip)
	if err := n.GossipInit(slow, strings.NewReader("127.0.[0-3].[1-250]@tcp")); err != nil {
		b.Fatal(err)
	}
	if err := n.GossipStart(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		n.GossipFiles()
	}
}
