package control_test

import (
	"testing"

	. "ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// TestPeers: a client can fetch the peers page by page, or those of one NID. A request for a page of less than one
// node, or more than MaxPeerPage nodes, is an error.
func TestPeers(t *testing.T) {
	first, second := nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@tcp")
	d := serve(t, Config{Routes: (&fakeNode{peers: func(after nid.NID, limit int) node.PeerPage {
		if limit != 1 {
			t.Errorf("limit %d, want 1", limit)
		}
		switch after {
		case nid.NID{}:
			return node.PeerPage{Peers: []lnet.PeerSnapshot{{NID: first}}, Next: &first}
		case first:
			return node.PeerPage{Peers: []lnet.PeerSnapshot{{NID: second}}}
		}
		t.Errorf("asked for the peers after %v", after)
		return node.PeerPage{}
	}}).routes()})
	c := NewClient(d.path)
	page, err := node.OpPeers.Call(t.Context(), c, node.PeersRequest{Limit: 1})
	if err != nil || len(page.Peers) != 1 || page.Peers[0].NID != first || page.Next == nil {
		t.Fatalf("first page %+v, %v", page, err)
	}
	page, err = node.OpPeers.Call(t.Context(), c, node.PeersRequest{After: *page.Next, Limit: 1})
	if err != nil || len(page.Peers) != 1 || page.Peers[0].NID != second || page.Next != nil {
		t.Errorf("second page %+v, %v", page, err)
	}
	if page, err = node.OpPeers.Call(t.Context(), c, node.PeersRequest{NID: second}); err != nil || len(page.Peers) != 1 || page.Peers[0].NID != second {
		t.Errorf("peers of %v: %+v, %v", second, page, err)
	}
	for _, limit := range []int{0, -1, node.MaxPeerPage + 1} {
		if _, err := node.OpPeers.Call(t.Context(), c, node.PeersRequest{Limit: limit}); err == nil {
			t.Errorf("a page of %d nodes was answered", limit)
		}
	}
}
