package softroce

import (
	"bytes"
	"net/netip"
	"sync/atomic"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
)

// listener is a port that accepts connections (verbs.Listener).
type listener struct {
	dev    *device
	port   uint16
	upcall func(verbs.Request)
	closed atomic.Bool
}

// Listen takes requests for connections to a port (verbs.Device).
func (d *device) Listen(port uint16, upcall func(verbs.Request)) (verbs.Listener, error) {
	l := &listener{dev: d, port: port, upcall: upcall}
	s := d.hub.cm
	if err := add(d, d.listeners, l); err != nil {
		return nil, err
	}
	if err := s.listen(l); err != nil {
		remove(d, d.listeners, l)
		return nil, err
	}
	return l, nil
}

// Close refuses further requests (verbs.Listener).
func (l *listener) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	s := l.dev.hub.cm
	s.unlisten(l)
	remove(l.dev, l.dev.listeners, l)
	return nil
}

// requested makes the upcall of a request. Close of the device waits for it.
func (l *listener) requested(r *request) {
	if !l.dev.enter() {
		_ = r.refuse(ibta.RejectServiceID, nil)
		return
	}
	defer l.dev.leave()
	l.upcall(r)
}

// request is a connection that a peer asks for (verbs.Request).
type request struct {
	hub      *hub
	dev      *device
	id       ibta.CommID
	peer     netip.AddrPort
	end      cmEnd
	private  []byte
	answered atomic.Bool
}

var _ verbs.Request = (*request)(nil)

// Peer returns the address of the peer (verbs.Request).
func (r *request) Peer() netip.AddrPort { return r.peer }

// Private returns the private data of the peer (verbs.Request).
func (r *request) Private() []byte { return r.private }

// Accept makes the connection (verbs.Request).
func (r *request) Accept(cfg verbs.ConnConfig, events func(verbs.Conn, verbs.Event)) (verbs.Conn, error) {
	if r.answered.Swap(true) {
		return nil, verbs.ErrState
	}
	c, err := r.accept(cfg, events)
	if err != nil {
		reason := ibta.RejectNoResources
		if r.end.MTU > r.hub.cm.mtu() { // the interface has got a smaller MTU since the request
			reason = ibta.RejectMTU
		}
		_ = r.refuse(reason, nil) // an error means that the request is gone
		return nil, err
	}
	return c, nil
}

func (r *request) accept(cfg verbs.ConnConfig, events func(verbs.Conn, verbs.Event)) (*conn, error) {
	if len(cfg.Private) > verbs.MaxAcceptPrivate {
		return nil, verbs.ErrTooLarge
	}
	c, err := newConn(r.dev, cfg.QP, 0, events)
	if err != nil {
		return nil, err
	}
	c.open(r.peer.Addr(), r.end, r.end.RetryCount, r.end.RNRRetryCount, clampAck(r.end.AckTimeout))
	if r.end.MTU > r.hub.cm.mtu() { // asked after open: if the interface gets a smaller MTU from now on, LinkUp ends c
		c.abandon()
		return nil, errMTU
	}
	call := cmCall{
		Kind: callAccept, ID: r.id, Private: bytes.Clone(cfg.Private),
		End: cmEnd{QPN: c.qpn, PSN: c.psn, RNRRetryCount: cfg.RNRRetryCount & 7},
	}
	return c, c.call(call)
}

// call makes the connection manager start c.
func (c *conn) call(call cmCall) error {
	if _, err := c.hub.cm.do(cmInput{Call: call}, c); err != nil {
		c.abandon()
		return err
	}
	return nil
}

// Reject refuses the request (verbs.Request).
func (r *request) Reject(private []byte) error {
	if len(private) > verbs.MaxRejectPrivate {
		return verbs.ErrTooLarge
	}
	if r.answered.Swap(true) {
		return verbs.ErrState
	}
	return r.refuse(ibta.RejectConsumer, private)
}

func (r *request) refuse(reason ibta.RejectReason, private []byte) error {
	_, err := r.hub.cm.do(cmInput{Call: cmCall{Kind: callReject, ID: r.id, Reason: reason, Private: private}}, nil)
	return err
}

// Connect sends a request for a connection (verbs.Device).
func (d *device) Connect(to netip.AddrPort, cfg verbs.ConnConfig, events func(verbs.Conn, verbs.Event)) (verbs.Conn, error) {
	if len(cfg.Private) > verbs.MaxRequestPrivate {
		return nil, verbs.ErrTooLarge
	}
	mtu := d.hub.cm.mtu()
	if cfg.MTU > 0 {
		mtu = min(mtu, ibta.MTUWithin(cfg.MTU))
	}
	if mtu == 0 {
		return nil, errMTU
	}
	c, err := newConn(d, cfg.QP, 0, events)
	if err != nil {
		return nil, err
	}
	c.asking, c.retry = true, cfg.RetryCount&7
	// without a zone, as in packets; the device's own address has the zone
	c.peer = to.Addr().Unmap().WithZone("")
	call := cmCall{
		Kind: callConnect, To: netip.AddrPortFrom(c.peer, to.Port()), Port: cfg.SrcPort, Private: bytes.Clone(cfg.Private), Timeout: cfg.Timeout, Claimed: cfg.Claimed,
		End: cmEnd{
			QPN: c.qpn, PSN: c.psn, MTU: mtu, RetryCount: cfg.RetryCount & 7, RNRRetryCount: cfg.RNRRetryCount & 7,
			AckTimeout: ackTimeout, TrafficClass: cfg.TrafficClass,
		},
	}
	if err := c.call(call); err != nil {
		return nil, err
	}
	return c, nil
}

// isEnded reports whether the connection has ended.
func (c *conn) isEnded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// abandon ends a connection that was not handed to the consumer. It has no events so far.
func (c *conn) abandon() { c.hub.give(c.end(verbs.Event{Kind: verbs.Disconnected})) }
