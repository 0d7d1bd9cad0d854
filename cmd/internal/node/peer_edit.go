package node

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// MaxPeersAtOnce is the largest number of NIDs for which a request to add or to remove peers always has room.
const MaxPeersAtOnce = 16384

// AddPeerRequest configures a peer, or adds NIDs to a configured one.
type AddPeerRequest struct {
	Primary nid.NID   `json:"primary"`          // primary NID, which identifies the peer
	NIDs    []nid.NID `json:"nids,omitempty"`   // further NIDs of the peer
	NonMR   bool      `json:"non_mr,omitempty"` // the peer is not multi-rail, and has no further NIDs
	Peers   []nid.NID `json:"peers,omitempty"`  // further peers, of one NID each: all are configured, or none
}

// RemovePeerRequest asks to remove a peer, or some of its NIDs.
type RemovePeerRequest struct {
	Primary nid.NID   `json:"primary"`        // primary NID, which identifies the peer
	NIDs    []nid.NID `json:"nids,omitempty"` // NIDs to remove; absent, or with the primary one: the whole peer is removed
}

// AddPeer configures a peer. The configuration takes precedence over what discovery finds out.
// Errors have the errno of discovery.Agent.AddPeer. ENETDOWN: LNet is down.
func (n *Node) AddPeer(r AddPeerRequest) error {
	n.changing.Lock()
	defer n.changing.Unlock()
	if err := n.checkConfigured(syscall.ENETDOWN); err != nil {
		return err
	}
	var undo []func() error // functions that undo the changes, to be called from the last to the first
	for i, id := range append([]nid.NID{r.Primary}, r.Peers...) {
		var nids []nid.NID
		if i == 0 {
			nids = r.NIDs
		}
		before := n.lnet.Peer(id)
		if err := n.base.Discovery().AddPeer(id, nids, !r.NonMR); err != nil {
			err = fmt.Errorf("cannot add peer %v: %w", id, err)
			for _, back := range slices.Backward(undo) {
				err = errors.Join(err, back())
			}
			return cli.Hint(err, "'lnetctl peer show' lists the peers of the node")
		}
		undo = append(undo, func() error { return n.restorePeer(id, before) })
	}
	return nil
}

// restorePeer gives a peer that AddPeer has configured its earlier state. If the peer was not
// configured before, it is forgotten, and the next message to it discovers it again.
func (n *Node) restorePeer(id nid.NID, before lnet.Peer) error {
	if !before.Flags.Has(lnet.PeerConfigured) {
		return n.base.Discovery().RemovePeer(id, nil)
	}
	var added []nid.NID
	for _, ni := range n.lnet.Peer(id).NIs {
		if !slices.ContainsFunc(before.NIs, func(had wire.NIStatus) bool { return had.NID == ni.NID }) {
			added = append(added, ni.NID)
		}
	}
	if len(added) > 0 {
		if err := n.base.Discovery().RemovePeer(id, added); err != nil {
			return err
		}
	}
	return n.base.Discovery().AddPeer(id, nil, before.Flags.Has(lnet.PeerMultiRail))
}

// RemovePeer removes a peer, which may have been discovered. ENOENT: there is no such peer, or
// the peer has no such NID.
func (n *Node) RemovePeer(r RemovePeerRequest) error {
	err := n.base.Discovery().RemovePeer(r.Primary, r.NIDs)
	switch known := n.lnet.Peer(r.Primary); {
	case errors.Is(err, syscall.ENOENT) && known.Primary.IsValid() && known.Primary != r.Primary:
		return cli.Hint(cli.Errnof(syscall.ENOENT, "%v belongs to the peer %v", r.Primary, known.Primary), "remove that by its primary NID")
	case errors.Is(err, syscall.ENOENT) && !known.Primary.IsValid() && n.lnet.HasPeer(r.Primary):
		return cli.Hint(cli.Errnof(syscall.ENOENT, "the peer %v is neither configured nor discovered", r.Primary),
			"'lnetctl peer show' lists it for its messages, until it has been idle for a while")
	case errors.Is(err, syscall.ENOENT) && !known.Primary.IsValid():
		return cli.Hint(cli.Errnof(syscall.ENOENT, "there is no peer %v", r.Primary), "'lnetctl peer show' lists the peers of the node")
	case err != nil:
		return cli.Hint(fmt.Errorf("cannot remove peer %v: %w", r.Primary, err), "'lnetctl peer show' lists the peers of the node")
	}
	return nil
}

// PeerStateRequest sets the state of a peer, for tests.
type PeerStateRequest struct {
	NID    nid.NID        `json:"nid"`              // any NID of the peer
	State  lnet.PeerFlags `json:"state"`            // bits of the state
	Health *int           `json:"health,omitempty"` // new health of the NI with the NID, 0 to 1000; absent: as it is
}

// SetPeerState sets the state of a peer that the choice of paths uses, and the health of one of
// its NIs: both or none. Discovery has a state of its own, which replaces the set one when
// discovery asks the peer again. ENOENT: there is no such peer.
func (n *Node) SetPeerState(r PeerStateRequest) error {
	p := n.lnet.Peer(r.NID)
	if !p.Primary.IsValid() {
		return cli.Hint(cli.Errnof(syscall.ENOENT, "discovery knows no peer %v", r.NID), "'lnetctl peer show' lists the peers of the node")
	}
	if r.Health != nil {
		if err := n.SetNIHealth(HealthRequest{Peer: true, NID: r.NID, Value: *r.Health}); err != nil {
			return err
		}
	}
	p.Flags = r.State
	n.lnet.SetPeer(p)
	return nil
}
