package softroce

import (
	"encoding/binary"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"time"

	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/wire"
)

// receive takes a datagram to QP 1, from any host.
func (c *cm) receive(now time.Duration, from netip.Addr, b []byte, out *cmOutput) {
	m, err := ibta.ParseCM(b)
	switch {
	case errors.Is(err, ibta.ErrAttribute):
		c.counters.Ignored++
		return
	case err != nil:
		c.counters.Malformed++
		return
	}
	switch m.MAD.Attribute {
	case ibta.AttrREQ:
		c.requested(now, from, m.MAD.TransactionID, &m.REQ, out)
	case ibta.AttrREP:
		c.granted(now, from, m.MAD.TransactionID, &m.REP, out)
	case ibta.AttrRTU:
		c.ready(from, &m.RTU, out)
	case ibta.AttrMRA:
		c.extend(now, from, &m.MRA)
	case ibta.AttrREJ:
		c.refused(now, from, &m.REJ, out)
	case ibta.AttrDREQ:
		c.disconnected(now, from, m.MAD.TransactionID, &m.DREQ, out)
	case ibta.AttrDREP:
		c.released(now, from, &m.DREP)
	}
}

// unknown rejects a message that belongs to no connection.
func (c *cm) unknown(to netip.Addr, tid uint64, remote, id ibta.CommID, out *cmOutput) {
	const invalidID ibta.RejectReason = 6
	r := ibta.REJ{LocalID: id, RemoteID: remote, Rejected: ibta.RejectedREP, Reason: invalidID}
	out.send(to, 0, wire.Claimed, c.build(ibta.AttrREJ, tid, &r))
}

// refused handles the REJ r.
func (c *cm) refused(now time.Duration, from netip.Addr, r *ibta.REJ, out *cmOutput) {
	n := c.conns[r.RemoteID]
	if r.Reason == ibta.RejectTimeout && r.InfoLength >= 8 {
		// A peer that withdraws its request may not have got an id of this side yet: RemoteID does not say
		// which connection it means, but its own id does.
		guid := ibta.GUID(binary.BigEndian.Uint64(r.Info[:]))
		if m := c.remotes[cmRemote{from, guid, r.LocalID}]; m != nil {
			n = m
		}
	}
	if !c.isFrom(n, from, r.LocalID) {
		return
	}
	switch n.state {
	case reqSent, repSent:
		out.event(cmEvent{Kind: cmRejected, ID: n.id, Reason: r.Reason}, r.Private)
		c.forget(n)
	case reqReceived: // the peer has withdrawn the request; the consumer's Accept will fail
		c.forget(n)
	case established:
		// The peer never received the REP, or has lost the connection.
		out.event(cmEvent{Kind: cmDisconnected, ID: n.id}, nil)
		c.wait(now, n)
	case dreqSent:
		c.wait(now, n)
	default:
		c.counters.OutOfState++
	}
}

// disconnect ends a connection from this side. The event does not wait for the peer, which
// may be dead.
func (c *cm) disconnect(now time.Duration, n *cmConn, out *cmOutput) {
	switch n.state {
	case reqSent, reqReceived:
		c.giveUp(n, out)
		if n.state == reqSent {
			out.event(cmEvent{Kind: cmDisconnected, ID: n.id}, nil)
		}
		c.forget(n)
	case repSent, established:
		out.event(cmEvent{Kind: cmDisconnected, ID: n.id}, nil)
		c.become(n, dreqSent)
		n.tid, n.giveUp = c.tid|uint64(n.id), now+maxDREQTime
		c.ask(now, n, ibta.AttrDREQ, n.dreq(), out)
	}
}

// dreq makes the DREQ that ends the connection.
func (n *cmConn) dreq() *ibta.DREQ {
	return &ibta.DREQ{LocalID: n.id, RemoteID: n.remote, RemoteQPN: n.remoteQPN}
}

// closing repeats the unanswered DREQs at once, because the device closes: a peer that has
// received none would believe that the connections still exist.
func (c *cm) closing(out *cmOutput) {
	const times = 3
	for _, id := range slices.Sorted(maps.Keys(c.conns)) {
		for n := c.conns[id]; n.state == dreqSent && n.sent <= times; n.sent++ {
			c.counters.Resent++
			out.send(n.peer, n.end.TrafficClass, n.doubt(), n.message)
		}
	}
}

// disconnected handles a DREQ. It also answers a DREQ of an unknown connection, as Linux does,
// so that the peer need not repeat it. It answers a DREQ as well while this side still waits for the
// REP, which was lost: only after this answer does the peer refuse the REQ that this side repeats.
func (c *cm) disconnected(now time.Duration, from netip.Addr, tid uint64, r *ibta.DREQ, out *cmOutput) {
	n := c.conns[r.RemoteID]
	if n == nil || n.state == reqSent && n.peer == from {
		c.counters.Unknown++
		out.send(from, 0, wire.Claimed, c.build(ibta.AttrDREP, tid, &ibta.DREP{LocalID: r.RemoteID, RemoteID: r.LocalID}))
		return
	}
	if n.peer != from || n.remote != r.LocalID || n.qpn != r.RemoteQPN {
		c.counters.Forged++
		return
	}
	switch n.state {
	case repSent, established:
		out.event(cmEvent{Kind: cmDisconnected, ID: n.id}, nil)
		c.wait(now, n)
	case dreqSent: // both sides disconnect at the same time
		c.wait(now, n)
	case timeWait:
		c.counters.Duplicates++
	default:
		c.counters.OutOfState++
		return
	}
	n.tid = tid
	c.reply(n, ibta.AttrDREP, &ibta.DREP{LocalID: n.id, RemoteID: n.remote}, out)
}

// released handles the DREP r.
func (c *cm) released(now time.Duration, from netip.Addr, r *ibta.DREP) {
	n := c.conns[r.RemoteID]
	if !c.isFrom(n, from, r.LocalID) {
		return
	}
	if n.state != dreqSent {
		c.counters.OutOfState++
		return
	}
	c.wait(now, n)
}
