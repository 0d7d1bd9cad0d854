package softroce

import (
	"net/netip"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
)

// connect sends a REQ for the consumer.
func (c *cm) connect(now time.Duration, call *cmCall, out *cmOutput) error {
	to := call.To.Addr().Unmap()
	if to.Is4() != c.cfg.Addr.Is4() || !isNode(to) || len(call.Private) > ibta.REQUserSize {
		return errAddress
	}
	if !c.hasRoom(to) {
		return verbs.ErrFull
	}
	n := c.open(cmConn{asking: true, claimed: call.Claimed, peer: to, qpn: call.End.QPN, end: call.End, peerTimeout: responseTimeout})
	n.tid = c.tid | uint64(n.id)
	c.become(n, reqSent)
	n.giveUp = now + maxRequestTime
	if call.Timeout > 0 {
		n.giveUp = now + call.Timeout
	}
	n.absences.taken = c.away.total
	port := call.To.Port()
	private := ibta.IPCM{SrcPort: call.Port, Src: c.cfg.Addr, Dst: to}.AppendTo(make([]byte, 0, ibta.REQPrivateSize))
	const linkless = 0xFFFF
	c.ask(now, n, ibta.AttrREQ, &ibta.REQ{
		LocalID: n.id, ServiceID: ibta.PortSpaceTCP.Service(port), LocalGUID: c.cfg.GUID, QPN: n.qpn,
		RemoteTimeout: responseTimeout, FlowControl: true, StartingPSN: n.end.PSN, LocalTimeout: responseTimeout, RetryCount: n.end.RetryCount,
		PKey: ibta.DefaultPKey, MTU: n.end.MTU, RNRRetryCount: n.end.RNRRetryCount, MaxCMRetries: cmRetries,
		Primary: ibta.PathRecord{
			LocalLID: linkless, RemoteLID: linkless, LocalGID: ibta.GIDFrom(c.cfg.Addr), RemoteGID: ibta.GIDFrom(to),
			FlowLabel: (uint32(call.Port)*31 + uint32(port)) & 0xFFFFF, TrafficClass: n.end.TrafficClass, HopLimit: hopLimit,
			AckTimeout: n.end.AckTimeout,
		},
		Private: append(private, call.Private...),
	}, out)
	out.ID = n.id
	return nil
}

const (
	hopLimit       = 64
	ackDelay       = 15                // AckTimeout code; Linux's software RoCE sends the same
	maxRequestTime = 150 * time.Second // long enough for all retries and an MRA
)

// isNode reports whether a can be the address of a peer.
func isNode(a netip.Addr) bool { return a.IsValid() && !a.IsUnspecified() && !a.IsMulticast() }

// isQP reports whether q can be the queue pair of a connection.
func isQP(q ibta.QPN) bool { return q > ibta.GSI && q < ibta.MulticastQPN }

// granted handles the REP r.
func (c *cm) granted(now time.Duration, from netip.Addr, tid uint64, r *ibta.REP, out *cmOutput) {
	if r.LocalID == 0 || !isQP(r.QPN) {
		c.counters.Malformed++
		return
	}
	n := c.conns[r.RemoteID]
	if n == nil {
		// This side gave up, and its REJ was lost or is still in flight.
		c.counters.Unknown++
		c.unknown(from, tid, r.LocalID, r.RemoteID, out)
		return
	}
	if n.peer != from || !n.asking {
		c.counters.Forged++
		return
	}
	switch {
	case n.state == established && n.remote == r.LocalID:
		c.counters.Duplicates++ // a repeated REP means that our RTU was lost
		c.reply(n, ibta.AttrRTU, &ibta.RTU{LocalID: n.id, RemoteID: n.remote}, out)
		return
	case n.state != reqSent:
		c.counters.OutOfState++
		return
	}
	n.remote, n.remoteQPN, n.guid = r.LocalID, r.QPN, r.LocalGUID
	c.take(now, n, r, out)
}

// take establishes the connection n, which the REP r grants, unless it cannot be used any more.
func (c *cm) take(now time.Duration, n *cmConn, r *ibta.REP, out *cmOutput) {
	var reason ibta.RejectReason
	switch {
	case c.stale(now, n, out):
		reason = ibta.RejectStale
	case n.end.MTU > c.cfg.MTU: // the interface has got a smaller MTU since the REQ
		reason = ibta.RejectMTU
	}
	if reason != 0 {
		c.reply(n, ibta.AttrREJ, &ibta.REJ{LocalID: n.id, RemoteID: n.remote, Rejected: ibta.RejectedREP, Reason: reason}, out)
		out.event(cmEvent{Kind: cmRejected, ID: n.id, Reason: reason}, nil)
		c.forget(n)
		return
	}
	c.remember(n)
	c.become(n, established)
	n.heard = true
	c.reply(n, ibta.AttrRTU, &ibta.RTU{LocalID: n.id, RemoteID: n.remote}, out)
	peer := n.end // values that this side's REQ has set for both ends
	peer.QPN, peer.PSN, peer.RNRRetryCount = r.QPN, r.StartingPSN, r.RNRRetryCount
	out.event(cmEvent{Kind: cmEstablished, ID: n.id, Peer: peer}, r.Private)
}

// stale reports whether the peer's numbers are those of another connection that exists here. The
// peer has forgotten that connection, for example because it was restarted; stale ends it.
func (c *cm) stale(now time.Duration, n *cmConn, out *cmOutput) bool {
	old := c.remotes[cmRemote{n.peer, n.guid, n.remote}]
	if old == nil {
		old = c.qps[cmRemoteQP{n.peer, n.guid, n.remoteQPN}]
	}
	if old == nil || old == n {
		return false
	}
	c.counters.Stale++
	if old.state == established || old.state == repSent {
		c.disconnect(now, old, out)
	}
	return true
}

// extend handles an MRA: the peer needs more time.
func (c *cm) extend(now time.Duration, from netip.Addr, m *ibta.MRA) {
	n := c.conns[m.RemoteID]
	if !c.isFrom(n, from, m.LocalID) {
		return
	}
	if !(n.state == reqSent && m.Message == ibta.RejectedREQ || n.state == repSent && m.Message == ibta.RejectedREP) {
		c.counters.OutOfState++
		return
	}
	more := ibta.CMTimeout(min(m.ServiceTimeout, serviceTimeout)) + 2*ibta.CMTimeout(lifetime)
	c.timers.Set(&n.timer, max(now+1, min(now+more, n.giveUp)))
}

// isFrom reports whether a message of a connection comes from its peer. The peer's
// id is not known before its REP.
func (c *cm) isFrom(n *cmConn, from netip.Addr, id ibta.CommID) bool {
	if n == nil {
		c.counters.Unknown++
		return false
	}
	if n.peer != from || n.state != reqSent && n.remote != id {
		c.counters.Forged++
		return false
	}
	return true
}
