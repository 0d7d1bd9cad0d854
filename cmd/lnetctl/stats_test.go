package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/node"
	"ulnet/lnet/latency"
	"ulnet/portals"
)

// TestStatsLatency: 'stats show -v' has quantiles of each kind of operation that was timed. It has none
// of a kind that was not timed, and none without -v.
func TestStatsLatency(t *testing.T) {
	var h latency.Histogram
	for range 98 {
		h.Record(500 * time.Millisecond)
	}
	h.Record(2 * time.Second)
	h.Record(3 * time.Second)
	s := node.Status{Latency: portals.Latencies{GetReply: h.Snapshot()}}
	want := &latencyDoc{Timed: 100, Mean: 540_000, Median: 500_000, P99: 2_000_000}
	for level, get := range []*latencyDoc{nil, want} {
		doc := newStatsDoc(s, level)
		if diff := cmp.Diff([]*latencyDoc{nil, get}, []*latencyDoc{doc.PutAck, doc.GetReply}); diff != "" {
			t.Errorf("level %d (-want +got):\n%s", level, diff)
		}
	}
}
