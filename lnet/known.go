package lnet

import (
	"slices"
	"strings"

	"ulnet/lnet/nid"
	"ulnet/lnet/recovery"
	"ulnet/lnet/wire"
)

// Peer is what discovery knows of a remote node (struct lnet_peer). The value
// and its slices never change once they are in the table.
//
// NIs is the identity of the node: a message from one of these NIDs counts as from all
// of them. Claimed is for display, and for the routes by a gateway, which depend on the states of the NIDs
// that it lists.
type Peer struct {
	Primary  nid.NID         `json:"primary"`           // primary NID, which stands for the node
	NIs      []wire.NIStatus `json:"nis"`               // interfaces of the node, the primary NID's first
	Claimed  []wire.NIStatus `json:"claimed,omitempty"` // NIDs that the node lists, too, and that are not known to be its own
	Features wire.Features   `json:"features"`          // features that the node reported last; 0: it never did
	Flags    PeerFlags       `json:"flags"`             // state of the node's discovery
}

// PeerFlags is the state of a peer, with the kernel's bits (LNET_PEER_*).
type PeerFlags uint32

// Flags of a peer, with LNet's values.
const (
	PeerMultiRail    PeerFlags = 1 << 0  // the NIDs belong to one node, and a message to it may go to any of them
	PeerNoDiscovery  PeerFlags = 1 << 1  // discovery is off, at the peer or at this node
	PeerRouter       PeerFlags = 1 << 2  // the node forwards messages
	PeerConfigured   PeerFlags = 1 << 3  // an administrator has said which NIDs the node has
	PeerDiscovered   PeerFlags = 1 << 4  // discovery has succeeded at least once
	PeerRediscover   PeerFlags = 1 << 5  // the node was discovered while discovery was off here
	PeerDiscovering  PeerFlags = 1 << 6  // discovery is in progress
	PeerDataPresent  PeerFlags = 1 << 7  // a ping info waits to be merged
	PeerNIDsUpToDate PeerFlags = 1 << 8  // the list of NIDs is up to date
	PeerPingSent     PeerFlags = 1 << 9  // a ping was sent; its REPLY is awaited
	PeerPushSent     PeerFlags = 1 << 10 // a push was sent; its ACK is awaited
	PeerPingFailed   PeerFlags = 1 << 11
	PeerPushFailed   PeerFlags = 1 << 12
	PeerForcePing    PeerFlags = 1 << 13 // ping the node even if that seems unnecessary
	PeerForcePush    PeerFlags = 1 << 14 // push to the node even if that seems unnecessary
	PeerMarkDeletion PeerFlags = 1 << 16 // the node is to be forgotten
)

var peerFlagNames = [...]string{
	0: "MULTI_RAIL", 1: "NO_DISCOVERY", 2: "ROUTER_ENABLED", 3: "CONFIGURED", 4: "DISCOVERED",
	5: "REDISCOVER", 6: "DISCOVERING", 7: "DATA_PRESENT", 8: "NIDS_UPTODATE", 9: "PING_SENT", 10: "PUSH_SENT",
	11: "PING_FAILED", 12: "PUSH_FAILED", 13: "FORCE_PING", 14: "FORCE_PUSH", 16: "MARK_DELETION",
}

// Has reports whether all bits of g are set.
func (f PeerFlags) Has(g PeerFlags) bool { return f&g == g }

// UpToDate reports whether messages may go without discovery before them
// (lnet_peer_is_uptodate). Discovery sets PeerForcePush for a peer that has not acknowledged this
// node's latest ping info, when it does not repeat the push any more.
func (f PeerFlags) UpToDate() bool {
	const busy = PeerDiscovering | PeerRediscover | PeerForcePing | PeerForcePush | PeerMarkDeletion
	return f.Has(PeerDiscovered|PeerNIDsUpToDate) && f&busy == 0
}

// String returns the names of the bits, as "MULTI_RAIL|DISCOVERED".
func (f PeerFlags) String() string {
	var names []string
	for i, name := range peerFlagNames {
		if name != "" && f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "|")
}

// SetDiscoverer installs the function that discovers peers; nil turns discovery off.
// discover is called with the NID of a peer before the first PUT or GET to it,
// without locks, in the goroutine of the sender; it must not block. Messages
// to the NID then wait for [Node.Discovered] or for a [Node.SetPeer] that
// brings it up to date.
func (n *Node) SetDiscoverer(discover func(nid.NID)) {
	if discover == nil {
		n.discover.Store(nil)
	} else {
		n.discover.Store(&discover)
	}
	for _, p := range n.peers.setDiscovering(discover != nil) {
		p.mu.Lock()
		p.review()
	}
}

// SetPeer publishes what discovery knows of a node. The value belongs to the table
// afterwards.
func (n *Node) SetPeer(peer Peer) {
	ids := make([]nid.NID, 0, len(peer.NIs))
	for _, ni := range peer.NIs {
		ids = append(ids, ni.NID)
	}
	n.know(&peer, ids)
}

// ForgetPeerNID withdraws what SetPeer has published of a NID.
func (n *Node) ForgetPeerNID(id nid.NID) { n.know(nil, []nid.NID{id}) }

// Discovered ends the discovery that was requested with id: messages that wait for it are
// sent, or fail with err. It must be called after failures, and for a NID that its node did
// not list.
func (n *Node) Discovered(id nid.NID, err error) {
	for _, p := range n.paths([]nid.NID{id}, nil) {
		p.discovered(err)
	}
}

// Primary returns the primary NID of the node that a NID belongs to; id itself
// if nothing else is known.
func (n *Node) Primary(id nid.NID) nid.NID {
	if known := n.peers.knownAs(id); known != nil {
		return known.Primary
	}
	return id
}

// HasPeer reports whether a NID has been heard from or spoken to, or is known
// by discovery.
func (n *Node) HasPeer(id nid.NID) bool {
	return n.peers.knownAs(id) != nil || len(n.paths([]nid.NID{id}, nil)) > 0
}

// know stores what discovery knows of the NIDs ids.
func (n *Node) know(known *Peer, ids []nid.NID) {
	var names []nid.NID // NIDs that may belong to another node now
	if n.watches.some.Load() {
		for _, id := range ids {
			names = append(names, n.names(id)...)
		}
	}
	var back []nid.NID
	for _, p := range n.paths(ids, func() { back = n.peers.learn(known, ids, n.cfg.Clock.Now()) }) {
		p.know(known)
	}
	n.learnGateways(ids)
	for _, id := range back {
		n.tellRecovery(recovery.Input{Kind: recovery.Heard, Target: recovery.Target{NID: id}})
	}
	if len(names) > 0 {
		slices.SortFunc(names, nid.NID.Compare)
		review(n.watches.of(slices.Compact(names)), ErrMoved)
	}
}

// paths returns the peer NIs with these NIDs that any NI of this node reaches. Before it looks for them
// it calls change, if that is not nil, under the lock of the table.
func (n *Node) paths(ids []nid.NID, change func()) (paths []*peerNI) {
	n.mu.Lock()
	defer n.mu.Unlock()
	nis := slices.Concat(*n.nis.Load(), n.leaving)
	n.peers.mu.Lock()
	defer n.peers.mu.Unlock()
	if change != nil {
		change()
	}
	for _, id := range ids {
		for _, ni := range nis {
			if p := n.peers.peers[peerKey{id, ni}]; p != nil {
				paths = append(paths, p)
			}
		}
	}
	return paths
}

// upToDate reports whether what is known of the peer is up to date. It returns false for nil.
func (p *Peer) upToDate() bool { return p != nil && p.Flags.UpToDate() }

// Peer returns what discovery knows of the node with a NID; the zero value if it knows
// nothing.
func (n *Node) Peer(id nid.NID) Peer {
	if known := n.peers.knownAs(id); known != nil {
		return *known
	}
	return Peer{}
}

// FailParked turns discovery off and fails the messages that wait for discovery.
func (n *Node) FailParked(cause error) {
	n.discover.Store(nil)
	for _, p := range n.peers.setDiscovering(false) {
		p.discovered(cause)
		p.mu.Lock()
		p.review()
	}
}
