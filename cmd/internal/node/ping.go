package node

import (
	"context"
	"syscall"
	"time"

	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// PingRequest asks for a ping.
type PingRequest struct {
	Target  nid.ProcessID `json:"target"`          // the process to ping
	Source  nid.NID       `json:"source,omitzero"` // local NID to send from; zero lets LNet choose
	Timeout time.Duration `json:"timeout"`         // time limit in nanoseconds; 0: 5 s
}

// PingReply is the answer to a ping.
type PingReply struct {
	Primary   nid.NID       `json:"primary"`    // the first NID of the node
	MultiRail bool          `json:"multi_rail"` // the node can use several NIs
	Features  wire.Features `json:"features"`   // features in the node's ping information
	NIs       []PingedNI    `json:"nis"`        // NIs in the order of the node's ping information
	Took      time.Duration `json:"took"`       // round-trip time in nanoseconds
}

// PingedNI is one NI of a node that was pinged.
type PingedNI struct {
	NID    nid.NID `json:"nid"`    // NID as the node lists it
	Status string  `json:"status"` // up or down
}

// Ping asks a node for its NIs. Errors wrap an errno and carry a hint.
func (n *Node) Ping(ctx context.Context, r PingRequest) (PingReply, error) {
	if err := n.checkConfigured(syscall.ENETDOWN); err != nil {
		return PingReply{}, err
	}
	clock := n.lnet.Clock()
	began := clock.Now()
	info, err := discovery.Ping(ctx, n.table, r.Target, discovery.PingOptions{Source: r.Source, Timeout: r.Timeout})
	if err != nil {
		return PingReply{}, n.explainUnreached(r.Target.NID, err)
	}
	reply := PingReply{
		Primary: r.Target.NID, Features: info.Features,
		MultiRail: info.Features.Has(wire.FeatureMultiRail), Took: clock.Now() - began,
	}
	reply.NIs = pingedNIs(info.NIs)
	if len(reply.NIs) > 0 {
		reply.Primary = reply.NIs[0].NID
	}
	return reply, nil
}

func pingedNIs(nis []wire.NIStatus) (list []PingedNI) {
	for _, ni := range nis {
		list = append(list, PingedNI{NID: ni.NID, Status: ni.Status.String()})
	}
	return list
}
