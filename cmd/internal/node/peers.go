package node

import (
	"fmt"
	"time"

	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/recovery"
)

// MaxPeerPage is the largest number of nodes in a PeerPage.
const MaxPeerPage = 4096

// PeerPage is a part of the peers that a node knows: `peer show` prints it, page by page. All
// NIs of a node are in the same page.
type PeerPage struct {
	Peers []lnet.PeerSnapshot `json:"peers"` // state of the peers' NIs, ordered by NID
	Known []KnownPeer         `json:"known"` // what discovery knows of peers, ordered by primary NID
	// Recovery has the NIs of peers that are pinged because they are not well. The list is the same
	// in every page.
	Recovery []recovery.Status `json:"recovery,omitempty"`
	Clock    time.Duration     `json:"clock"` // time of the answer, by the clock of the times in Recovery
	// Next is the value of after for the next page; absent in the last page.
	Next *nid.NID `json:"next,omitempty"`
}

// Peers returns the peers of at most limit nodes: the nodes that follow the one whose primary NID is in the
// parameter after, or the first nodes if that is not a valid NID. The limit is at most MaxPeerPage.
func (n *Node) Peers(after nid.NID, limit int) PeerPage {
	return n.newPeerPage(n.lnet.PeersAfter(after, min(limit, MaxPeerPage)))
}

// PeersOf returns the peers of the node that a NID belongs to.
func (n *Node) PeersOf(id nid.NID) PeerPage { return n.newPeerPage(n.lnet.PeersOf(id)) }

func (n *Node) newPeerPage(p lnet.PeerPage) PeerPage {
	page := PeerPage{Peers: p.Peers, Known: knownPeers(p.Nodes), Clock: n.clock.Now()}
	page.Recovery = n.base.Discovery().Recovery().Peers
	if p.Next.IsValid() {
		page.Next = &p.Next
	}
	return page
}

// PeersRequest selects peers: those of the node of a NID, or a page of all.
type PeersRequest struct {
	NID   nid.NID `query:"nid"`          // NID of one node; zero: a page of nodes
	After nid.NID `query:"after"`        // NID after which the page begins; zero: the first page
	Limit int     `query:"limit,always"` // number of nodes in a page, MaxPeerPage by default
}

// Defaults makes the page as large as possible.
func (r *PeersRequest) Defaults() { r.Limit = MaxPeerPage }

// Check refuses an impossible page size.
func (r *PeersRequest) Check() error {
	if !r.NID.IsValid() && (r.Limit < 1 || r.Limit > MaxPeerPage) {
		return fmt.Errorf("limit: want 1 to %d, not %d", MaxPeerPage, r.Limit)
	}
	return nil
}

func (n *Node) peersAsked(r PeersRequest) (PeerPage, error) {
	if r.NID.IsValid() {
		return n.PeersOf(r.NID), nil
	}
	return n.Peers(r.After, r.Limit), nil
}
