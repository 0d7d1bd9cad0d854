package o2iblnd

import (
	"cmp"
	"net/netip"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
)

// connect requests a connection to p.
func (ni *NI) connect(p *peer, a ask) {
	c := ni.newConn(p, true)
	if c == nil {
		p.attemptFailed(newError(ShuttingDown, lustre(p.id), nil))
		return
	}
	c.ask = a
	m := kib.Msg{Params: kib.ConnParams{QueueDepth: uint16(a.depth), MaxFrags: uint16(a.maxFrags), MaxMsgSize: kib.MaxMsgSize}}
	private := ni.greeting(&m, kib.ConnReq, p, a.stamp) // without a checksum: it is not known yet how the peer computes them
	to := netip.AddrPortFrom(p.id.Addr(), ni.cfg.Service)
	cfg := ni.connConfig(c, a.depth, private)
	cfg.MTU = cmp.Or(a.mtu, cfg.MTU)
	device := ni.dev.Attr().MTU
	c.ask.mtu = min(cmp.Or(cfg.MTU, device), device)
	if a.redial { // packets in the peer's name were the reason
		cfg.Timeout, cfg.Claimed = min(cfg.Timeout, redialTimeout), true
	}
	vc, err := ni.dev.Connect(to, cfg, c.event)
	if err != nil {
		if c.abandon() {
			p.attemptFailed(newError(ConnectFailed, lustre(p.id), err))
		}
		return
	}
	c.made(vc)
}

// greeting encodes a CONNREQ or CONNACK. Encoding cannot fail, because the NIDs are IPv4.
func (ni *NI) greeting(m *kib.Msg, typ kib.MsgType, p *peer, stamp uint64) []byte {
	m.Header = kib.Header{
		Version: kib.V2, Type: typ, SrcNID: ni.nid, SrcStamp: ni.stamp, DstNID: p.id, DstStamp: stamp,
	}
	b, _ := m.AppendBinary(nil)
	return b
}

// ack encodes the CONNACK that accepts c.
func (ni *NI) ack(c *conn, m *kib.Msg, stamp uint64) []byte {
	b := ni.greeting(m, kib.ConnAck, c.peer, stamp)
	switch {
	case !ni.cfg.Cksum:
	case c.counting == kib.Unknown:
		b = kib.AppendEither(b)
	default:
		kib.SetChecksum(b, false, c.counting)
	}
	return b
}

// connConfig returns the configuration of a connection with queues of this depth.
func (ni *NI) connConfig(c *conn, depth int, private []byte) verbs.ConnConfig {
	x := ni.exchangeConfig(c, depth)
	cfg := verbs.ConnConfig{
		QP:           verbs.QPConfig{ID: uint64(c.id) << 32, PD: ni.pd, Sends: ni.cq, Recvs: ni.cq, Pool: ni.pool, MaxSends: x.maxPosted()},
		SrcPort:      maxPrivilegedPort,
		TrafficClass: uint8(ni.cfg.TOS), MTU: ni.cfg.IBMTU,
		RetryCount: uint8(ni.cfg.RetryCount), RNRRetryCount: uint8(ni.cfg.RNRRetryCount),
		Timeout: ni.connectTimeout(), Private: private,
	}
	if ni.cfg.UnprivilegedPort {
		cfg.SrcPort = maxPrivilegedPort + 1
	}
	return cfg
}

// exchangeConfig returns the parameters that c and its peer have agreed upon, or will agree upon.
func (ni *NI) exchangeConfig(c *conn, depth int) exchangeConfig {
	return exchangeConfig{
		local: ni.nid, peer: c.peer.id, stamp: ni.stamp, peerStamp: c.peerStamp, version: c.version,
		depth: depth, maxFrags: c.maxFrags, highWater: depth * ni.cfg.PeerCreditsHIW / ni.depth,
		concurrent: ni.cfg.ConcurrentSends, gather: ni.cfg.WrqSGE, sendGather: ni.attr.SGEs,
		timeout: ni.patience.Now(), keepalive: ni.cfg.Keepalive, checksum: ni.cfg.Cksum, counting: c.counting, firstCookie: ni.cfg.FirstCookie,
	}
}

// attemptFailed reports to p's set of connections (peerSet) that a request of this side failed.
func (p *peer) attemptFailed(e *Error) {
	p.mu.Lock()
	p.note(e)
	p.step(peerIn{kind: peerFailed, err: e})
	p.unlock()
}

// request accepts or rejects a connection request to this NI. The request itself is
// well-formed; the decision depends on the state of the NI.
func (ni *NI) request(r verbs.Request, m *kib.Msg) {
	if !ni.peers.Begin(nil) {
		ni.reject(r, kib.Early)
		return
	}
	defer ni.peers.Tasks.Done()
	why, reason := inspectParams(m.Params, ni.depth)
	switch {
	case m.SrcNID.Net() != ni.nid.Net() || m.SrcNID.Addr() != r.Peer().Addr():
		why, reason = kib.Fatal, RequestSource
	case m.DstStamp != 0 && m.DstStamp != ni.stamp:
		why, reason = kib.ConnStale, RefusedStale
	case ni.messages.Closing():
		why, reason = kib.Early, ShuttingDown
	case reason == ReasonNone && ni.conns.len() >= ni.cfg.MaxConns:
		why, reason = kib.NoResources, RefusedLimit
	}
	if reason != ReasonNone {
		from := r.Peer()
		ni.reject(r, why)
		ni.rejectAddr(reason, from, nil)
		return
	}
	for p := ni.peers.Get(m.SrcNID); p != nil; p = ni.peers.Get(m.SrcNID) {
		if p.request(r, m) {
			return
		} // p was removed from the NI's table meanwhile, so try again
	}
	ni.reject(r, kib.Early)
}

// reject refuses a request for this NI.
func (ni *NI) reject(r verbs.Request, why kib.Why) {
	reject := kib.Reject{
		Version: kib.V2, Why: why, Stamp: ni.stamp,
		Params: kib.ConnParams{QueueDepth: uint16(ni.depth), MaxFrags: kib.MaxFrags, MaxMsgSize: kib.MaxMsgSize},
	}
	_ = r.Reject(reject.AppendTo(nil)) // an error means that the peer has gone
}

// accept makes the connection that p requests with m.
func (ni *NI) accept(r verbs.Request, p *peer, m *kib.Msg) {
	c := ni.newConn(p, false)
	if c == nil {
		ni.reject(r, kib.Early)
		p.acceptFailed(newError(ShuttingDown, lustre(p.id), nil))
		return
	}
	c.depth, c.maxFrags = int(m.Params.QueueDepth), int(m.Params.MaxFrags)
	c.peerStamp, c.version, c.counting = m.SrcStamp, m.Version, m.CountingOf(r.Private())
	ack := kib.Msg{Params: kib.ConnParams{QueueDepth: m.Params.QueueDepth, MaxFrags: m.Params.MaxFrags, MaxMsgSize: kib.MaxMsgSize}}
	vc, err := r.Accept(ni.connConfig(c, c.depth, ni.ack(c, &ack, m.SrcStamp)), c.event)
	if err != nil {
		if c.abandon() {
			p.acceptFailed(newError(AcceptFailed, lustre(p.id), err))
		}
		return
	}
	c.made(vc)
}

// acceptFailed reports to p's set of connections (peerSet) that no connection followed a request that
// the set accepted.
func (p *peer) acceptFailed(e *Error) {
	p.mu.Lock()
	p.events.Add(event{kind: eventNoted, err: e})
	p.step(peerIn{kind: peerAcceptFailed, err: e})
	p.unlock()
}
