package softroce

import (
	"cmp"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/wire"
	"ulnet/lnet/machine"
)

// conn is a connection and its queue pair (verbs.Conn). Its states:
//
//	asking   Connect was called: there is no transport yet
//	open     the transport works
//	ended    the connection manager has removed it: work requests are flushed
//
// Locks are taken in the order: connection manager, conn, completion queue. No
// upcall is made under any.
type conn struct {
	hub    *hub
	dev    *device
	qp     verbs.QPConfig
	sends  *cq // queue for completions of sends; may be recvs
	recvs  *cq
	qpn    ibta.QPN
	psn    ibta.PSN   // first PSN of the peer's requests
	asking bool       // this side has requested the connection
	retry  uint8      // retry count, if asking is true
	peer   netip.Addr // address of the peer, if asking is true
	events eventQueue
	timer  timed
	id     ibta.CommID // guarded by the lock of the connection manager; 0: the connection manager does not know this connection

	mu         sync.Mutex // guards all fields below
	rc         *rc        // transport of the connection; nil while asking
	route      route
	heard      bool         // whether the peer has used the connection
	status     verbs.Status // status of the failure that ends the connection
	ended      bool
	closed     bool
	last       verbs.Event
	now        time.Duration // time of the last step
	wake       time.Duration
	slack      time.Duration // how long after its due time the timer may run
	timerAt    time.Duration
	handing    bool     // upcalls are being made; packets of work requests that these upcalls post leave after the upcalls
	ack        rcPacket // a delayed ACK, sent by the timer or by hub.flushACKs
	ackDelayed bool     // whether ack has a packet to send
}

var (
	_ verbs.Conn = (*conn)(nil)
	_ endpoint   = (*conn)(nil)
)

// Bounds of connections, our own choice.
const (
	maxWindow      = 256     // packets: 1 MiB at the largest MTU, which is sent in two round trips at full speed
	longestMessage = 1 << 30 // bytes of the longest message
	maxGather      = 1024    // most pieces of memory in a work request
	maxPosted      = 1 << 22 // packets of all posted work requests: PSNs have 24 bits
	leastAck       = 14      // shortest AckTimeout, as code: 67 ms
)

// newConn makes a connection without transport. qpn is reserved for it; 0 reserves a number.
// It belongs to its device from now on, which may end it.
func newConn(dev *device, cfg verbs.QPConfig, qpn ibta.QPN, events func(verbs.Conn, verbs.Event)) (*conn, error) {
	sends, ok1 := cfg.Sends.(*cq)
	recvs, ok2 := cfg.Recvs.(*cq)
	_, ok3 := cfg.Pool.(*bufferPool)
	pd, ok4 := cfg.PD.(*protectionDomain)
	if !ok1 || !ok2 || !ok3 || !ok4 || pd.dev.hub != dev.hub || sends.dev != dev || recvs.dev != dev {
		return nil, errParts
	}
	if cfg.MaxSends < 1 || cfg.MaxSends > sends.depth {
		return nil, fmt.Errorf("%d work requests at a time, of a completion queue for %d", cfg.MaxSends, sends.depth)
	}
	h := dev.hub
	if qpn == 0 {
		qpn = h.demux.reserve()
	}
	c := &conn{
		hub: h, dev: dev, qp: cfg, sends: sends, recvs: recvs, qpn: qpn, psn: h.numbers.PSN() & psnMask,
		wake: machine.Never, timerAt: machine.Never,
	}
	c.timer.expired = c.expired
	sends.enter(cfg.MaxSends)
	c.events.upcall, c.events.done, c.events.silent = events, c.gone, true
	if err := add(dev, dev.conns, c); err != nil {
		sends.leave(cfg.MaxSends)
		h.demux.remove(qpn)
		return nil, err
	}
	return c, nil
}

const psnMask = 1<<24 - 1

// gone releases what the connection uses of its device, after its last event.
func (c *conn) gone() {
	c.sends.leave(c.qp.MaxSends)
	remove(c.dev, c.dev.conns, c)
}

// open gives the connection its transport, unless it has ended. From now on it takes the
// peer's packets.
func (c *conn) open(peer netip.Addr, end cmEnd, retry, rnr uint8, ack time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.route = c.hub.route(peer, end.TrafficClass, wire.NoDoubt)
	pool := c.qp.Pool.(*bufferPool)
	c.rc = newRC(rcConfig{
		ID: c.qp.ID, QPN: c.qpn, DestQP: end.QPN, MTU: end.MTU.Bytes(), SendPSN: end.PSN, RecvPSN: c.psn, MaxSends: c.qp.MaxSends,
		MaxWindow: maxWindow, Allowance: c.hub.allowance, MaxMessage: pool.cfg.Size, AckTimeout: ack, RetryCount: int(retry),
		RNRRetryCount: int(rnr), Memory: c.qp.PD.(*protectionDomain).domain, Pool: pool,
	})
	c.hub.demux.put(c.qpn, c)
}

// clampAck converts the ACK timeout code of a peer. 0 would mean no timeout, and a very short
// one would use up all retries at once.
func clampAck(code uint8) time.Duration {
	return ibta.AckTimeout(min(max(cmp.Or(code, maxAckTimeout), leastAck), maxAckTimeout))
}

// QPN returns the number of the queue pair (verbs.Conn).
func (c *conn) QPN() uint32 { return uint32(c.qpn) }

// PostSend posts work requests (verbs.Conn).
func (c *conn) PostSend(wrs []verbs.SendWR) error {
	for i := range wrs {
		if err := checkWR(&wrs[i]); err != nil {
			return err
		}
	}
	c.mu.Lock()
	if err := c.admit(wrs); err != nil || len(wrs) == 0 {
		c.mu.Unlock()
		return err
	}
	box := c.hub.boxes.take()
	c.step(rcInput{Post: wrs, Later: c.handing}, box)
	err := box.out.Err
	if err != nil {
		c.sends.release(len(wrs))
	}
	if !c.handing {
		c.addACK(box)
	}
	urgent := c.urgent(wrs)
	c.finish(box)
	if urgent {
		c.hub.recall()
	}
	return err
}

// checkWR returns an error if wr is invalid.
func checkWR(wr *verbs.SendWR) error {
	n := 0
	for i := range wr.Pieces {
		n += len(wr.Pieces[i].Bytes)
	}
	if len(wr.Pieces) > maxGather || n > longestMessage {
		return verbs.ErrTooLarge
	}
	if wr.Op != verbs.Send && wr.Op != verbs.Write {
		return fmt.Errorf("%v cannot be posted", wr.Op)
	}
	return nil
}

// admit says whether work requests may be posted now, and reserves room for their
// completions. c.mu is held.
func (c *conn) admit(wrs []verbs.SendWR) error {
	switch {
	case c.closed || c.rc == nil && c.ended:
		return verbs.ErrClosed
	case c.rc == nil:
		return verbs.ErrState
	}
	n := c.rc.sends.end.Sub(c.rc.req.unacked)
	for i := range wrs {
		for k := range wrs[i].Pieces {
			n += len(wrs[i].Pieces[k].Bytes)/c.rc.cfg.MTU + 1
		}
		n++
	}
	if n > maxPosted || !c.sends.reserve(len(wrs)) {
		return verbs.ErrFull
	}
	return nil
}

// Disconnect ends the connection (verbs.Conn).
func (c *conn) Disconnect() {
	c.sendACK()
	c.hub.cm.disconnect(c)
}

// Close frees the connection (verbs.Conn).
func (c *conn) Close() {
	c.events.silence()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.Disconnect()
}
