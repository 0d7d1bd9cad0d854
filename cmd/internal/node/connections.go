package node

import (
	"fmt"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/drivers"
	"ulnet/lnd/fault"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// maxConnectionPeers bounds the peers that one answer lists. 'lnetctl peer show' has all, in
// pages.
const maxConnectionPeers = 4096

// ConnectionsRequest selects a network.
type ConnectionsRequest struct {
	Net string `query:"net"` // name of the network, such as tcp or o2ib1
}

// Connections are the peers of the NIs of a network, with the connections to each peer.
type Connections struct {
	Peers []drivers.Peer `json:"peers"` // peers ordered by NI, then by NID
	More  bool           `json:"more"`  // there are more peers than fit in the answer
}

// Connections returns the connections of the NIs of a network. EINVAL: the name is not one of a
// network. ENODEV: the node is not on that network.
func (n *Node) Connections(r ConnectionsRequest) (c Connections, err error) {
	net, err := nid.ParseNet(r.Net)
	if err != nil {
		return c, cli.Errno(syscall.EINVAL, err)
	}
	found := false
	for _, ni := range n.lnet.Overview().NIs {
		if ni.NID.Net() != net {
			continue
		}
		found = true
		c.Peers = append(c.Peers, n.connectionsOf(ni, maxConnectionPeers+1-len(c.Peers))...)
	}
	if !found {
		return c, cli.Hint(cli.Errnof(syscall.ENODEV, "this node is not on %v", net), "'lnetctl net show' lists its networks")
	}
	if c.More = len(c.Peers) > maxConnectionPeers; c.More {
		c.Peers = c.Peers[:maxConnectionPeers]
	}
	return c, nil
}

// connectionsOf returns the peers of an NI, at most as many as the parameter most says.
func (n *Node) connectionsOf(ni lnet.NISnapshot, most int) []drivers.Peer {
	for _, d := range n.cfg.All() {
		if lister, ok := d.(drivers.PeerLister); ok {
			if list := lister.Peers(fault.Unwrap(ni.Lower), most); list != nil {
				return list
			}
		}
	}
	return nil
}

// DistanceRequest asks how far away a node is.
type DistanceRequest struct {
	NID nid.NID `query:"nid"` // NID of the node
}

// Distance is how far away a node is.
type Distance struct {
	Hops   int     `json:"hops"`   // 0: this node; 1: a net of this node; n+1: beyond a route of n hops
	Order  uint32  `json:"order"`  // preference among equal hops: the smaller the better
	Source nid.NID `json:"source"` // the local NID that LNet would use
}

// Distance returns how far away a NID is (LNetDist). EHOSTUNREACH: there is no way to it.
func (n *Node) Distance(r DistanceRequest) (Distance, error) {
	d, err := n.lnet.Dist(r.NID)
	if err != nil {
		return Distance{}, fmt.Errorf("there is no network and no route to %v: %w", r.NID, err)
	}
	return Distance(d), nil
}
