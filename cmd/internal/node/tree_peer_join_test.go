package node_test

import (
	"testing"

	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/udsp"
)

// TestPeerTreeJoins: if several NIs of this node send to a NID, the tree shows that NID once,
// with the sums of credits and counters, and as up if one NI reaches it.
func TestPeerTreeJoins(t *testing.T) {
	id, other := nid.MustParse("10.0.0.2@tcp"), nid.MustParse("10.0.0.3@tcp")
	one := func(state string, sent uint64, credits int) lnet.PeerSnapshot {
		p := lnet.PeerSnapshot{NID: id, Primary: id, State: state, MaxCredits: 8, Credits: credits, MinCredits: credits - 1, Health: 900}
		p.Traffic.Sent.Put, p.Failures.RemoteError = sent, 7
		return p
	}
	list := node.PeerTree(node.PeerPage{Peers: []lnet.PeerSnapshot{
		one("NA", 1, 8), one("down", 2, 5), one("up", 3, 7), {NID: other, Primary: other, State: "NA"},
	}}, nid.NID{}, 2, udsp.List{})
	if len(list) != 2 || len(list[0].NIs) != 1 || len(list[1].NIs) != 1 {
		t.Fatalf("%+v", list)
	}
	ni := list[0].NIs[0]
	if ni.State != "up" || ni.Max != 24 || ni.Available != 20 || ni.Min != 17 || ni.Sent.Put != 6 || ni.Statistics.Send != 6 {
		t.Errorf("state %s, credits %+v, sent %+v", ni.State, ni.Credits, ni.Sent)
	}
	if ni.Health.Value != 900 || ni.Health.Error != 7 {
		t.Errorf("health %+v", ni.Health)
	}
	if list[1].NIs[0].State != "NA" {
		t.Errorf("the other is %s", list[1].NIs[0].State)
	}
}
