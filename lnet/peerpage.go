package lnet

import (
	"cmp"
	"slices"

	"ulnet/lnet/nid"
)

// PeerPage is a part of the peers that a node knows. It has either all peer NIs of another
// node, or none.
type PeerPage struct {
	Peers []PeerSnapshot // peer NIs, ordered by NID
	Nodes []Peer         // nodes that discovery knows, ordered by primary NID
	// Next is the argument with which PeersAfter returns the next page; not valid if this is the last page.
	Next nid.NID
}

// PeersAfter returns the peers of at most limit nodes: those with the lowest primary NIDs
// above the argument after, which is the zero NID for the first page. Peers that come and go
// between two pages may be missing; none is in two pages unless its node has got another
// primary NID.
func (n *Node) PeersAfter(after nid.NID, limit int) PeerPage {
	peers, nodes := n.peers.all(), n.peers.nodes()
	next := smallest{after: after, limit: max(limit, 1)}
	for _, p := range peers {
		next.add(p.primary())
	}
	for _, known := range nodes {
		next.add(known.Primary)
	}
	primaries := next.sorted()
	if len(primaries) == 0 {
		return PeerPage{}
	}
	last := primaries[len(primaries)-1]
	page := pageOf(peers, nodes, func(id nid.NID) bool { return id.Compare(after) > 0 && id.Compare(last) <= 0 })
	if next.full {
		page.Next = last
	}
	return page
}

// PeersOf returns the peers of the node that a NID belongs to.
func (n *Node) PeersOf(id nid.NID) PeerPage {
	primary := n.Primary(id)
	return pageOf(n.peers.all(), n.peers.nodes(), func(id nid.NID) bool { return id == primary })
}

// EachPeer calls f with the state of each peer NI, in the order in which they became known. The
// state is valid during the call; f must not keep it.
func (n *Node) EachPeer(f func(*PeerSnapshot)) {
	var s PeerSnapshot
	for _, p := range n.peers.all() {
		s = p.snapshot()
		f(&s)
	}
}

// pageOf returns a page of the peers and nodes for whose primary NID the function with returns true.
func pageOf(peers []*peerNI, nodes []*Peer, with func(primary nid.NID) bool) (page PeerPage) {
	for _, p := range peers {
		if with(p.primary()) {
			page.Peers = append(page.Peers, p.snapshot())
		}
	}
	for _, known := range nodes {
		if with(known.Primary) {
			page.Nodes = append(page.Nodes, *known)
		}
	}
	page.sort()
	return page
}

func (page *PeerPage) sort() {
	slices.SortFunc(page.Peers, func(a, b PeerSnapshot) int {
		return cmp.Or(a.NID.Compare(b.NID), a.Via.Compare(b.Via))
	})
	slices.SortFunc(page.Nodes, func(a, b Peer) int { return a.Primary.Compare(b.Primary) })
}

// primary is the NID that stands for the node of p.
func (p *peerNI) primary() nid.NID {
	if known := p.known.Load(); known != nil {
		return known.Primary
	}
	return p.nid
}

// smallest finds, among any number of NIDs, the lowest ones above the NID in the field after: limit
// of them at most. It keeps at most twice that number.
type smallest struct {
	after nid.NID
	limit int
	ids   []nid.NID
	full  bool // limit NIDs are in order at the beginning of ids, so that NIDs from ids[limit-1] on are not needed
}

func (s *smallest) add(id nid.NID) {
	if id.Compare(s.after) <= 0 || s.full && id.Compare(s.ids[s.limit-1]) >= 0 {
		return
	}
	s.ids = append(s.ids, id)
	if len(s.ids) >= 2*s.limit {
		s.sorted()
	}
}

// sorted returns the collected NIDs, in order and each once.
func (s *smallest) sorted() []nid.NID {
	slices.SortFunc(s.ids, nid.NID.Compare)
	s.ids = slices.Compact(s.ids)
	if len(s.ids) >= s.limit {
		s.ids, s.full = s.ids[:s.limit], true
	}
	return s.ids
}
