package node

import (
	"errors"
	"fmt"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// AddPeerRequest configures a peer, or adds NIDs to a configured one.
type AddPeerRequest struct {
	Primary nid.NID   `json:"primary"`          // identifies the peer
	NIDs    []nid.NID `json:"nids,omitempty"`   // further NIDs of the peer
	NonMR   bool      `json:"non_mr,omitempty"` // the peer is not multi-rail, and has no further NIDs
	Peers   []nid.NID `json:"peers,omitempty"`  // further peers, of one NID each: all are configured, or none
}

// RemovePeerRequest removes a peer, or NIDs of it.
type RemovePeerRequest struct {
	Primary nid.NID   `json:"primary"`        // identifies the peer
	NIDs    []nid.NID `json:"nids,omitempty"` // NIDs to remove; absent, or with the primary one: the whole peer is removed
}

// AddPeer configures a peer, which then wins over what is discovered. Errors carry the errno of
// discovery.Agent.AddPeer.
func (n *Node) AddPeer(r AddPeerRequest) error {
	n.changing.Lock()
	defer n.changing.Unlock()
	for i, id := range append([]nid.NID{r.Primary}, r.Peers...) {
		var nids []nid.NID
		if i == 0 {
			nids = r.NIDs
		}
		err := n.base.Discovery().AddPeer(id, nids, !r.NonMR)
		if err == nil {
			continue
		}
		err = fmt.Errorf("cannot add peer %v: %w", id, err)
		if i > 0 { // the first one and those before are taken back
			for _, added := range append([]nid.NID{r.Primary}, r.Peers[:i-1]...) {
				err = errors.Join(err, n.base.Discovery().RemovePeer(added, nil))
			}
		}
		return cli.Hint(err, "'lnetctl peer show' lists the peers of the node")
	}
	return nil
}

// RemovePeer removes a peer, which may have been discovered. ENOENT: there is none, or it has no
// such NID.
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
	NID   nid.NID        `json:"nid"`   // any NID of the peer
	State lnet.PeerFlags `json:"state"` // bits of the state
}

// SetPeerState sets the state of a peer by which messages go. Discovery keeps its own, and publishes that
// when it has asked the peer again. ENOENT: there is no such peer.
func (n *Node) SetPeerState(r PeerStateRequest) error {
	p := n.lnet.Peer(r.NID)
	if !p.Primary.IsValid() {
		return cli.Hint(cli.Errnof(syscall.ENOENT, "discovery knows no peer %v", r.NID), "'lnetctl peer show' lists the peers of the node")
	}
	p.Flags = r.State
	n.lnet.SetPeer(p)
	return nil
}
