package node_test

import (
	"encoding/json"
	"errors"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
)

// TestNISettings: an NI with its own tunables runs beside another that has those of the node.
func TestNISettings(t *testing.T) {
	n, err := newTCPNode(t, func(*config.Config) {})
	if err != nil {
		t.Fatal(err)
	}
	own := node.NISettings{
		PeerTimeout: new(120), PeerCredits: new(16), Credits: new(128), CPT: "[0,1]",
		LND: map[string]int{"conns_per_peer": 2, "tos": 96},
	}
	if err := n.AddNetworks(node.AddRequest{Networks: "tcp1(" + address + ")", NISettings: own}); err != nil {
		t.Fatal(err)
	}
	s := n.Status()
	plain, tuned := s.NIs[1], s.NIs[2]
	if got := tuned.Tunables; got.PeerTimeout != 2*time.Minute || got.PeerCredits != 16 || got.Credits != 128 || tuned.CPT != "[0,1]" {
		t.Errorf("tunables %+v, CPT %q", got, tuned.CPT)
	}
	var lnd struct {
		Conns int `json:"conns_per_peer"`
		TOS   int `json:"tos"`
	}
	if err := json.Unmarshal(tuned.LND.Tunables, &lnd); err != nil || lnd.Conns != 2 || lnd.TOS != 96 {
		t.Errorf("lnd tunables %s, %v", tuned.LND.Tunables, err)
	}
	if err := json.Unmarshal(plain.LND.Tunables, &lnd); err != nil || lnd.Conns != 1 || lnd.TOS != -1 {
		t.Errorf("the other NI has lnd tunables %s, %v", plain.LND.Tunables, err)
	}
	if got := plain.Tunables; got.PeerTimeout != 3*time.Minute || got.PeerCredits != 8 || plain.CPT != "" {
		t.Errorf("the other NI has tunables %+v, CPT %q", got, plain.CPT)
	}
	if !tuned.ByAddress {
		t.Errorf("%v is not the address for which %q stands", tuned.NID, tuned.Interface)
	}
}

// TestNISettingsRefused: values out of range are refused, and no NI starts.
func TestNISettingsRefused(t *testing.T) {
	n, err := newTCPNode(t, func(*config.Config) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range []node.NISettings{
		{PeerTimeout: new(-1)},
		{PeerCredits: new(1 << 30)},
		{Credits: new(-5)},
		{LND: map[string]int{"conns_per_peer": 128}},
		{LND: map[string]int{"no_such": 1}},
		{CPT: "all of them"},
	} {
		if err := n.AddNetworks(node.AddRequest{Networks: "tcp1(" + address + ")", NISettings: own}); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%+v: %v, want EINVAL", own, err)
		}
	}
	if got := len(n.Status().NIs); got != 2 {
		t.Errorf("%d NIs, want 2", got)
	}
}

// TestRemoveOneNI stops one NI of a network and leaves the other.
func TestRemoveOneNI(t *testing.T) {
	n, err := newTCPNode(t, func(*config.Config) {})
	if err != nil {
		t.Fatal(err)
	}
	const other = "127.0.0.65"
	if err := n.AddNetworks(node.AddRequest{Networks: "tcp(" + other + ")"}); err != nil {
		t.Fatal(err)
	}
	id := nid.MustParse(other + "@tcp")
	if _, err := n.RemoveNet(t.Context(), node.RemoveRequest{Net: "tcp", NID: id}); err != nil {
		t.Fatal(err)
	}
	if nids := n.NIDs(); len(nids) != 1 || nids[0] == id {
		t.Errorf("left are %v", nids)
	}
	if _, err := n.RemoveNet(t.Context(), node.RemoveRequest{Net: "tcp", NID: id}); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("removed again: %v, want ENOENT", err)
	}
}
