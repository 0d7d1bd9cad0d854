package node

import (
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// PathRequest asks for the path of a message.
type PathRequest struct {
	NID    nid.NID `query:"nid"`    // NID of the destination
	Source nid.NID `query:"source"` // local NID to send from; zero lets LNet choose
}

// Path returns the path that a message would take now. EINVAL: the destination is no NID, or the
// source is not a NID of this node.
func (n *Node) Path(r PathRequest) (lnet.Path, error) { return n.lnet.Path(r.Source, r.NID) }
