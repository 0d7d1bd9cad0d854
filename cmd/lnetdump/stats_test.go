package main

import (
	"bytes"
	"strings"
	"testing"

	"ulnet/lnd/capture"
)

// TestStatsLost: lost bytes of TCP and lost packets of RDMA are counted apart, and both are shown.
func TestStatsLost(t *testing.T) {
	s := newStats()
	s.record(&capture.Record{Kind: capture.Lost, Conn: new(capture.Conn), Length: 7})
	s.record(&capture.Record{Kind: capture.Lost, Conn: &capture.Conn{RoCE: true}, Length: 2})
	for asJSON, want := range map[bool]string{
		false: "0 packets, 0 connections, 7 bytes lost, 0 bytes not understood, 2 packets of RDMA lost\n",
		true:  `"lost_bytes":7,"lost_packets":2,`,
	} {
		var out bytes.Buffer
		if err := s.print(&out, asJSON); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s, error %v", &out, err)
		}
	}
}
