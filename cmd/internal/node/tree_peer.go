package node

import (
	"cmp"
	"slices"

	"ulnet/cmd/internal/config/tree"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/udsp"
)

// PeerTree returns the peers of a page, or only the one with the given NID. The level is the
// level of detail, as in 'lnetctl peer show -v'. The NIs that discovery knows to belong to one
// node are one peer. Lustre's tool does not have all the keys, see tree.Peer.
func PeerTree(s PeerPage, only nid.NID, level int, rules udsp.List) (list []tree.Peer) {
	peers := make(map[nid.NID]*tree.Peer)
	peer := func(primary nid.NID) *tree.Peer {
		if peers[primary] == nil {
			peers[primary] = &tree.Peer{Primary: primary}
			if level >= 1 {
				peers[primary].State = new(lnet.PeerFlags)
			}
		}
		return peers[primary]
	}
	for _, known := range s.Known {
		p := peer(known.Primary)
		if p.MultiRail = known.MultiRail; level >= 1 {
			p.State = &known.Flags
		}
		for _, ni := range known.Claimed {
			p.Claimed = append(p.Claimed, tree.ClaimedNI{NID: ni.NID})
		}
	}
	for _, p := range joinLocals(s.Peers) {
		to := peer(p.Primary)
		to.NIs = append(to.NIs, newPeerNITree(p, s, level, rules))
	}
	for _, known := range s.Known {
		completePeer(peer(known.Primary), known)
	}
	for _, p := range peers {
		if !only.IsValid() || hasNID(p, only) {
			list = append(list, *p)
		}
	}
	slices.SortFunc(list, func(a, b tree.Peer) int { return a.Primary.Compare(b.Primary) })
	return list
}

func hasNID(p *tree.Peer, id nid.NID) bool {
	return slices.ContainsFunc(p.NIs, func(ni tree.PeerNI) bool { return ni.NID == id })
}

// completePeer adds the NIDs to which this node has sent nothing, and sorts all NIDs in the
// order in which the peer itself lists them.
func completePeer(p *tree.Peer, known KnownPeer) {
	rank := make(map[nid.NID]int)
	for i, ni := range known.NIs {
		rank[ni.NID] = i
		if !hasNID(p, ni.NID) {
			p.NIs = append(p.NIs, tree.PeerNI{NID: ni.NID, State: lnet.PeerStateUnknown.String()})
		}
	}
	slices.SortStableFunc(p.NIs, func(a, b tree.PeerNI) int { return cmp.Compare(rank[a.NID], rank[b.NID]) })
}

func newPeerNITree(p lnet.PeerSnapshot, s PeerPage, level int, rules udsp.List) tree.PeerNI {
	doc := tree.PeerNI{NID: p.NID, State: p.State}
	if level >= 1 {
		doc.Cause = p.Cause
		doc.Credits = &tree.Credits{
			Max: p.MaxCredits, Available: p.Credits, Min: p.MinCredits, QueuedBytes: p.QueuedBytes,
			AvailableRouter: p.RouterCredits, MinRouter: p.RouterMinCredits, References: 1 + p.MaxCredits - p.Credits + p.Parked,
		}
		doc.Statistics = newStatistics(p.Traffic)
	}
	if level >= 2 {
		doc.Sent, doc.Received, doc.Dropped = &p.Traffic.Sent, &p.Traffic.Received, &p.Traffic.Dropped
		f := p.Failures
		doc.Health = &tree.PeerHealthStats{
			Value: p.Health, Dropped: f.RemoteDropped, Timeout: f.RemoteTimeout, Error: f.RemoteError, NetworkTimeout: f.NetworkTimeout,
		}
		doc.Health.PingCount, doc.Health.NextPing = nextPing(s.Recovery, p.NID, s.Clock)
	}
	if level >= RulesLevel {
		doc.UDSP = remoteRules(rules, p.NID)
	}
	return doc
}

// remoteRules returns the priorities that selection rules give an NI of another node.
func remoteRules(l udsp.List, id nid.NID) *tree.Priorities {
	ni, net, prefers := l.Remote(id)
	d := &tree.Priorities{Net: priorityOf(net), NID: priorityOf(ni)}
	if prefers != nil {
		for _, s := range prefers.Locals {
			d.Locals = append(d.Locals, s.String())
		}
		for _, s := range prefers.Routers {
			d.Routers = append(d.Routers, s.String())
		}
	}
	return d
}
