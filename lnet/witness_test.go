package lnet_test

import (
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// hear lets a PUT of a peer arrive at an NI.
func hear(t *testing.T, ni *lnet.NI, from nid.NID, at time.Duration) {
	t.Helper()
	d := arriving(func(h *wire.Header) { h.SrcNID, h.DestNID = from, ni.NID() })
	d.From.NID, d.ReceivedAt = from, at
	if _, err := ni.Parse(d); err != nil {
		t.Fatal(err)
	}
	ni.Delivered(d, nil)
}

// TestWitness (HV-10): an NI that is not well pings the NIDs that were heard through it, and then the others on its net.
// It begins with the one that was heard last, through any NI: a node that is dead is not heard any more.
func TestWitness(t *testing.T) {
	spec.Covers(t, "HV-10")
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	add := func(id nid.NID) *lnet.NI {
		ni, err := r.node.AddNI(&driver{id: id}, lnd.Config{Net: id.Net()})
		if err != nil {
			t.Fatal(err)
		}
		return ni
	}
	other, far := add(second), add(self1)
	want := func(what string, ids ...nid.NID) {
		t.Helper()
		for failed := range 2 * len(ids) {
			if id, ok := r.node.Witness(second, failed); !ok || id != ids[failed%len(ids)] {
				t.Errorf("%s: %v %v after %d pings without an answer, want %v", what, id, ok, failed, ids[failed%len(ids)])
			}
		}
	}
	if id, ok := r.node.Witness(second, 0); ok {
		t.Errorf("%v, although nothing was heard", id)
	}
	hear(t, r.ni, peerC, 9*time.Second)
	hear(t, far, peer1, 10*time.Second) // this NID is on another net
	want("none heard through the NI", peerC)
	hear(t, other, peerA, time.Second)
	hear(t, other, peerB, 2*time.Second)
	want("heard through the NI", peerB, peerA, peerC)
	hear(t, r.ni, peerA, 3*time.Second)
	want("the first one heard elsewhere", peerA, peerB, peerC)
	if err := r.node.SetPeerHealth(peerA, 900); err != nil {
		t.Fatal(err)
	}
	want("the first one not well", peerB, peerA, peerC)
	if id, ok := r.node.Witness(peerA, 0); ok {
		t.Errorf("%v for an NI that this node does not have", id)
	}
}
