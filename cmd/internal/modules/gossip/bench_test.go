package gossip_test

import (
	"strings"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/modules/gossip"
)

// BenchmarkGossipFiles is what the state files of a thousand participants cost
// once a second, without the writing.
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
