package lnet

import (
	"ulnet/lnd"
	"ulnet/lnet/nid"
)

// checkSource refuses a message in the name of another process: the source of a message must
// be the process at the other end of the connection. Messages of kernel nodes pass this check,
// because kernels send from the NI that holds the connection. For a message that has come through a router
// the router is responsible, see checkRouted.
func (ni *NI) checkSource(d *lnd.Delivery) DropReason {
	h := &d.Header
	if ni.routed(d) {
		return ni.checkRouted(d)
	}
	if h.SrcNID == d.From.NID && (h.SrcPID == d.From.PID || !tellsProcesses(ni.cfg.Net)) || ni.node.cfg.SourceUnchecked {
		return NotDropped
	}
	return ForeignSource
}

// tellsProcesses reports whether the drivers of a net distinguish the processes at a NID.
func tellsProcesses(net nid.Net) bool { return net.Type().HasProcesses() }

// Responder is called with the target of a message in id. It replaces id by the process from which the
// answer will come, as [NI.Source] will return it when the answer arrives. PID 0 and PIDAny become
// LustrePID, as in [Node.Send]; on RDMA every PID becomes LustrePID; a process at a NID of this node
// becomes the node itself at its NID of lo.
// Responder is called for each message that awaits an answer, and mostly changes nothing. It
// changes id in place and returns nothing: if a NID is copied, and the copy is copied at once, the
// processor stalls for longer than all the comparisons take (failed store forwarding).
func (n *Node) Responder(id *nid.ProcessID) {
	AnswersAs(id)
	for _, ni := range *n.nis.Load() {
		if ni.nid == id.NID && n.own(id.NID) != nil {
			*id = n.self
			return
		}
	}
}

// AnswersAs is Responder for a process of another node.
func AnswersAs(id *nid.ProcessID) {
	if pid := process(id.PID); pid != id.PID {
		id.PID = pid
	}
	if !tellsProcesses(id.NID.Net()) {
		id.PID = nid.LustrePID
	}
}

// Source returns the process that a message came from. The result may point into d: the caller
// must read it before the Delivery ends.
func (ni *NI) Source(d *lnd.Delivery) *nid.ProcessID {
	h := &d.Header
	switch {
	case ni.isLo():
		return &ni.node.self
	case h.SrcNID == d.From.NID && (h.SrcPID == d.From.PID || !tellsProcesses(ni.cfg.Net)):
		return &d.From
	}
	id := nid.ProcessID{NID: h.SrcNID, PID: h.SrcPID} // the message came by a router, or sources are unchecked
	if !tellsProcesses(id.NID.Net()) {
		id.PID = nid.LustrePID
	}
	return &id
}
