package softroce

import (
	"errors"
	"net/netip"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/wire"
)

var errAddress = errors.New("no address for a connection of this device")

// requested handles the REQ r.
func (c *cm) requested(now time.Duration, from netip.Addr, tid uint64, r *ibta.REQ, out *cmOutput) {
	if r.LocalID == 0 {
		c.counters.Malformed++
		return
	}
	if old := c.remotes[cmRemote{from, r.LocalGUID, r.LocalID}]; old != nil && old.remoteQPN == r.QPN && old.state != timeWait {
		c.repeated(old, out)
		return
	}
	h, user, reason := c.check(from, r)
	n := &cmConn{
		remote: r.LocalID, peer: from, guid: r.LocalGUID, remoteQPN: r.QPN, tid: tid, peerTimeout: r.LocalTimeout,
		end: cmEnd{
			QPN: r.QPN, PSN: r.StartingPSN, MTU: r.MTU, RetryCount: r.RetryCount, RNRRetryCount: r.RNRRetryCount,
			AckTimeout: r.Primary.AckTimeout, TrafficClass: r.Primary.TrafficClass,
		},
	}
	if reason == 0 && c.stale(now, n, out) {
		reason = ibta.RejectStale
	}
	if reason != 0 {
		c.counters.Refused++
		c.reply(n, ibta.AttrREJ, &ibta.REJ{RemoteID: r.LocalID, Rejected: ibta.RejectedREQ, Reason: reason}, out)
		return
	}
	n = c.open(*n)
	c.become(n, reqReceived)
	c.remember(n)
	c.timers.Set(&n.timer, now+maxRequestTime) // by then the peer has given up the request
	_, port, _ := r.ServiceID.Port()
	out.event(cmEvent{Kind: cmRequested, ID: n.id, From: netip.AddrPortFrom(from, h.SrcPort), Port: port, Peer: n.end}, user)
}

// repeated answers a repeated REQ.
func (c *cm) repeated(n *cmConn, out *cmOutput) {
	c.counters.Duplicates++
	switch n.state {
	case reqReceived:
		c.reply(n, ibta.AttrMRA, &ibta.MRA{LocalID: n.id, RemoteID: n.remote, Message: ibta.RejectedREQ, ServiceTimeout: serviceTimeout}, out)
	case repSent:
		c.counters.Resent++
		out.send(n.peer, n.end.TrafficClass, wire.Claimed, n.message)
	}
}

// Reasons of a REJ that only softroce gives.
const (
	rejectUnsupported ibta.RejectReason = 5
	rejectTransport   ibta.RejectReason = 9
	rejectGID         ibta.RejectReason = 12
)

// check returns the reason to refuse a REQ, or 0 if the consumer is to decide.
func (c *cm) check(from netip.Addr, r *ibta.REQ) (h ibta.IPCM, user []byte, reason ibta.RejectReason) {
	space, port, ok := r.ServiceID.Port()
	h, user, err := ibta.ParseIPCM(r.Private)
	switch {
	case !ok || space != ibta.PortSpaceTCP || !c.ports[port]:
		reason = ibta.RejectServiceID
	case r.Transport != 0 || r.RDC:
		reason = rejectTransport
	case !isQP(r.QPN) || !r.PKey.Matches(ibta.DefaultPKey):
		reason = rejectUnsupported
	case r.Primary.LocalGID.Addr() != from || r.Primary.RemoteGID.Addr() != c.cfg.Addr || !isNode(from):
		reason = rejectGID
	case err != nil || h.Src.Unmap() != from || h.Dst.Unmap() != c.cfg.Addr:
		reason = ibta.RejectConsumer // RDMA-CM of Linux gives the same reason
	case !r.MTU.IsValid() || r.MTU > c.cfg.MTU:
		reason = ibta.RejectMTU
	case !c.hasRoom(from) || c.pending >= c.cfg.MaxPending:
		reason = ibta.RejectNoResources
	}
	return h, user, reason
}

// accept grants a request. The queue pair must be ready before.
func (c *cm) accept(now time.Duration, n *cmConn, call *cmCall, out *cmOutput) error {
	if n.state != reqReceived {
		return verbs.ErrState
	}
	c.become(n, repSent)
	n.qpn, n.giveUp = call.End.QPN, now+maxRequestTime
	c.ask(now, n, ibta.AttrREP, &ibta.REP{
		LocalID: n.id, RemoteID: n.remote, QPN: n.qpn, StartingPSN: call.End.PSN, RNRRetryCount: call.End.RNRRetryCount,
		LocalGUID: c.cfg.GUID, AckDelay: ackDelay, FlowControl: true, Private: call.Private,
	}, out)
	c.makeRoom(n.peer, out)
	return nil
}

// refuse sends a REJ for the consumer.
func (c *cm) refuse(n *cmConn, call *cmCall, out *cmOutput) error {
	if n.state != reqReceived {
		return verbs.ErrState
	}
	c.reply(n, ibta.AttrREJ, &ibta.REJ{
		RemoteID: n.remote, Rejected: ibta.RejectedREQ, Reason: call.Reason, Private: call.Private,
	}, out)
	c.forget(n)
	return nil
}

// ready handles the RTU r.
func (c *cm) ready(from netip.Addr, r *ibta.RTU, out *cmOutput) {
	n := c.conns[r.RemoteID]
	if !c.isFrom(n, from, r.LocalID) {
		return
	}
	switch {
	case n.state == repSent:
		c.establish(n, out)
	case n.state == established && !n.asking:
		c.counters.Duplicates++
	default:
		c.counters.OutOfState++
	}
}

// establish handles the sign that the peer, which requested the connection, knows that it was
// granted.
func (c *cm) establish(n *cmConn, out *cmOutput) {
	c.become(n, established)
	n.heard = true
	out.event(cmEvent{Kind: cmEstablished, ID: n.id}, nil)
}
