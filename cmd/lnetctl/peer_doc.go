package main

import (
	"cmp"
	"slices"

	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// The documents of peer show have the keys of the kernel's tool; cause and claimed ni are
// ours.
type peerDoc struct {
	Primary   nid.NID         `json:"primary nid"`
	MultiRail bool            `json:"Multi-Rail"`
	State     *lnet.PeerFlags `json:"peer state,omitempty"` // what discovery knows, as the kernel's bits
	NIs       []peerNIDoc     `json:"peer ni"`
	Claimed   []pingNIDoc     `json:"claimed ni,omitempty"`
}

type peerNIDoc struct {
	NID   nid.NID      `json:"nid"`
	UDSP  *udspInfoDoc `json:"udsp info,omitempty"`
	State string       `json:"state"`           // up, down, NA
	Cause string       `json:"cause,omitempty"` // of state down
	*creditsDoc
	Statistics *statisticsDoc   `json:"statistics,omitempty"`
	Sent       *lnet.TypeCounts `json:"sent_stats,omitempty"`
	Received   *lnet.TypeCounts `json:"received_stats,omitempty"`
	Dropped    *lnet.TypeCounts `json:"dropped_stats,omitempty"`
	Health     *peerHealthDoc   `json:"health stats,omitempty"`
}

// peerHealthDoc has the health statistics of a peer's NI.
type peerHealthDoc struct {
	Value          int    `json:"health value"`
	Dropped        uint64 `json:"dropped"`
	Timeout        uint64 `json:"timeout"`
	Error          uint64 `json:"error"`
	NetworkTimeout uint64 `json:"network timeout"`
	PingCount      int    `json:"ping_count"`
	NextPing       int    `json:"next_ping"` // seconds from now; 0: none
}

type creditsDoc struct {
	Max         int `json:"max_ni_tx_credits"`
	Available   int `json:"available_tx_credits"`
	Min         int `json:"min_tx_credits"`
	QueuedBytes int `json:"tx_q_num_of_buf"`
	// Without a router these are the credits for sending.
	AvailableRouter int `json:"available_rtr_credits"`
	MinRouter       int `json:"min_rtr_credits"`
	References      int `json:"refcount"` // 1 and a message each
}

// peerDocs makes a document of each peer, or of the one with a NID. What
// discovery knows to be one node is one peer.
func peerDocs(s node.PeerPage, only nid.NID, level int) []peerDoc {
	docs := make(map[nid.NID]*peerDoc)
	doc := func(primary nid.NID) *peerDoc {
		if docs[primary] == nil {
			docs[primary] = &peerDoc{Primary: primary}
			if level >= 1 {
				docs[primary].State = new(lnet.PeerFlags)
			}
		}
		return docs[primary]
	}
	for _, known := range s.Known {
		d := doc(known.Primary)
		d.MultiRail, d.Claimed = known.MultiRail, niDocs(known.Claimed)
		if level >= 1 {
			d.State = &known.Flags
		}
	}
	for _, p := range s.Peers {
		d := doc(p.Primary)
		d.NIs = append(d.NIs, newPeerNIDoc(p, s, level))
	}
	for _, known := range s.Known {
		doc(known.Primary).complete(known)
	}
	list := []peerDoc{}
	for _, d := range docs {
		if !only.IsValid() || d.has(only) {
			list = append(list, *d)
		}
	}
	slices.SortFunc(list, func(a, b peerDoc) int { return a.Primary.Compare(b.Primary) })
	return list
}

func (d *peerDoc) has(id nid.NID) bool {
	return slices.ContainsFunc(d.NIs, func(ni peerNIDoc) bool { return ni.NID == id })
}

// complete adds the NIDs to which nothing was sent, and sorts all in the order in which the node
// listed them.
func (d *peerDoc) complete(known node.KnownPeer) {
	rank := make(map[nid.NID]int)
	for i, ni := range known.NIs {
		rank[ni.NID] = i
		if !d.has(ni.NID) {
			d.NIs = append(d.NIs, peerNIDoc{NID: ni.NID, State: lnet.PeerStateUnknown.String()})
		}
	}
	slices.SortStableFunc(d.NIs, func(a, b peerNIDoc) int { return cmp.Compare(rank[a.NID], rank[b.NID]) })
}

func newPeerNIDoc(p lnet.PeerSnapshot, s node.PeerPage, level int) peerNIDoc {
	doc := peerNIDoc{NID: p.NID, State: p.State}
	if level >= 1 {
		doc.Cause = p.Cause
		doc.creditsDoc = &creditsDoc{
			Max: p.MaxCredits, Available: p.Credits, Min: p.MinCredits, QueuedBytes: p.QueuedBytes,
			AvailableRouter: p.RouterCredits, MinRouter: p.RouterMinCredits, References: 1 + p.MaxCredits - p.Credits + p.Parked,
		}
		doc.Statistics = newStatisticsDoc(p.Traffic)
	}
	if level >= 2 {
		doc.Sent, doc.Received, doc.Dropped = &p.Traffic.Sent, &p.Traffic.Received, &p.Traffic.Dropped
		f := p.Failures
		doc.Health = &peerHealthDoc{
			Value: p.Health, Dropped: f.RemoteDropped, Timeout: f.RemoteTimeout, Error: f.RemoteError, NetworkTimeout: f.NetworkTimeout,
		}
		doc.Health.PingCount, doc.Health.NextPing = nextPing(s.Recovery, p.NID, s.Clock)
	}
	return doc
}
