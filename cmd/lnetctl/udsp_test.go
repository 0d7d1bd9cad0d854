package main

import (
	"testing"

	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/udsp"
)

// TestUDSPInfo: from -v 4 on, the priorities that selection rules give NIs are shown.
func TestUDSPInfo(t *testing.T) {
	spec.Covers(t, "UD-14")
	var l udsp.List
	for _, p := range [][4]string{{"tcp", "", "", "5"}, {"10.0.0.1@tcp", "", "", "3"}, {"", "10.0.0.2@tcp", "", "1"}, {"10.0.0.1@tcp", "tcp", "", ""}} {
		r, err := parseUDSP([3]string(p[:3]), p[3])
		if err == nil {
			l, err = l.Add(r, -1)
		}
		if err != nil {
			t.Fatal(p, err)
		}
	}
	for level := range maxVerbosity + 1 {
		status := node.Status{NIs: make([]node.NIStatus, 2)}
		status.NIs[0].NID, status.NIs[1].NID = nid.Lo0(), nid.MustParse("10.0.0.1@tcp")
		nets := node.NetTree(status, level, l)
		peers := node.PeerTree(node.PeerPage{Peers: []lnet.PeerSnapshot{{NID: nid.MustParse("10.0.0.2@tcp")}}}, nid.NID{}, level, l)
		lo, ni, peer := nets[0].NIs[0].UDSP, nets[0].NIs[1].UDSP, peers[0].NIs[0].UDSP
		if level < node.RulesLevel {
			if lo != nil || ni != nil || peer != nil {
				t.Errorf("-v %d shows rules", level)
			}
			continue
		}
		if lo.Net != -1 || lo.NID != -1 || ni.Net != 5 || ni.NID != 3 || peer.Net != -1 || peer.NID != 1 || len(peer.Locals) != 1 {
			t.Errorf("-v %d: %+v %+v %+v", level, lo, ni, peer)
		}
	}
}
