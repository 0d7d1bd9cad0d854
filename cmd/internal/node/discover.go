package node

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// DiscoverRequest asks for the state of a peer.
type DiscoverRequest struct {
	Target  nid.NID       `json:"target"`  // any NID of the peer
	Force   bool          `json:"force"`   // ping and push even if the peer is known
	Timeout time.Duration `json:"timeout"` // time limit in nanoseconds; 0: lnet_transaction_timeout
}

// DiscoverReply is what the node knows of a peer now.
type DiscoverReply struct {
	Primary   nid.NID       `json:"primary"`           // primary NID, which identifies the peer
	MultiRail bool          `json:"multi_rail"`        // the peer can use several NIs
	Features  wire.Features `json:"features"`          // features in the peer's ping information
	NIs       []PingedNI    `json:"nis"`               // confirmed NIs, in the peer's order
	Claimed   []PingedNI    `json:"claimed,omitempty"` // NIs that the peer lists but that are not confirmed, see lnet.Peer
	Took      time.Duration `json:"took"`              // duration in nanoseconds
}

// Discover pings a peer and updates what the node knows of it. Errors wrap an errno and
// carry a hint.
func (n *Node) Discover(ctx context.Context, r DiscoverRequest) (DiscoverReply, error) {
	if err := n.checkConfigured(syscall.ESHUTDOWN); err != nil {
		return DiscoverReply{}, err
	}
	if r.Timeout > 0 {
		late := fmt.Errorf("no answer within %v: %w", r.Timeout, syscall.ETIMEDOUT)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.Timeout, late)
		defer cancel()
	}
	clock := n.lnet.Clock()
	began := clock.Now()
	p, err := n.base.Discovery().Discover(ctx, r.Target, r.Force)
	if err != nil {
		return DiscoverReply{}, n.explainUnreached(r.Target, err)
	}
	return DiscoverReply{
		Primary: p.Primary, MultiRail: p.Flags.Has(lnet.PeerMultiRail), Features: p.Features,
		NIs: pingedNIs(p.NIs), Claimed: pingedNIs(p.Claimed), Took: clock.Now() - began,
	}, nil
}

// KnownPeer is a node that discovery knows.
type KnownPeer struct {
	Primary   nid.NID        `json:"primary"`           // primary NID, which identifies the peer
	MultiRail bool           `json:"multi_rail"`        // the peer can use several NIs
	Flags     lnet.PeerFlags `json:"flags"`             // state of the peer, as far as discovery knows it
	NIs       []PingedNI     `json:"nis"`               // confirmed NIs, in the peer's order
	Claimed   []PingedNI     `json:"claimed,omitempty"` // NIs that the peer lists but that are not confirmed, see lnet.Peer
}

func knownPeers(peers []lnet.Peer) (known []KnownPeer) {
	for _, p := range peers {
		known = append(known, KnownPeer{
			Primary: p.Primary, MultiRail: p.Flags.Has(lnet.PeerMultiRail), Flags: p.Flags,
			NIs: pingedNIs(p.NIs), Claimed: pingedNIs(p.Claimed),
		})
	}
	return known
}
