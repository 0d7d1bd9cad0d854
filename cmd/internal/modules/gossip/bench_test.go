package gossip_test

import (
	"strings"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/modules/gossip"
)

// BenchmarkGossipFiles measures the cost of making the state files of a thousand participants,
// which happens once a second. It does not write them.
func BenchmarkGossipFiles(b *testing.B) {
	n := mustGossipNode(b)
	slow := gossip.NewInitRequest(config.Default().Gossip)
	if err := n.Init(slow, strings.NewReader("127.0.[0-3].[1-250]@tcp")); err != nil {
		b.Fatal(err)
	}
	if err := n.Start(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		n.Files().Source()
	}
}
