package o2iblnd

import (
	"errors"
	"testing"
	"time"
)

// TestSentToClosing: a node ends a connection because of a timeout, and its lnet takes long for each message
// that ends. Meanwhile the peer, which is well, sends messages. Each of them that ends without an error at the
// peer has arrived at the node.
func TestSentToClosing(t *testing.T) {
	v := newVirtual(t, Config{})
	a, b := v.ups[0], v.ups[1]
	v.nis[0].Send(newMessage(v.nis[0], v.nis[1].nid, 10))
	v.until("message", time.Second, func(s *sink) bool { return s.finished == 1 }, a)
	c := v.nis[1].conns.all()[0]
	c.x.credits = 0
	v.nis[1].Send(newMessage(v.nis[1], v.nis[0].nid, 10)) // this message waits for a credit
	v.nis[1].up = watched{v.nis[1].up, func() {
		v.nis[0].Send(newMessage(v.nis[0], v.nis[1].nid, 10))
		v.clock.Run(v.clock.Now() + time.Second)
	}}
	c.fail(newError(SendTimeout, lustre(c.peer.id), nil))
	v.until("end", time.Minute, func(s *sink) bool { return s.finished == 2 }, a)
	if left := a.finished - len(a.errs); b.arrived < left {
		t.Errorf("%d messages left without an error, and %d arrived", left, b.arrived)
	}
	v.shut(0)
	v.shut(1)
}

// TestArrivedBeforeEnd: messages have arrived when the connection ends, but lnet still handles one before
// them. The device has acknowledged them, so lnet gets them, unless the peer has broken the protocol,
// lnet has refused one of its messages, or the NI shuts down.
func TestArrivedBeforeEnd(t *testing.T) {
	for _, tt := range []struct {
		why  Reason
		late int
	}{
		{SendTimeout, 3},
		{CreditTimeout, 3},
		{TransportFailed, 3},
		{NotPosted, 3},
		{PeerClosed, 3},
		{PeerRestarted, 3},
		{BadMessage, 0},
		{Refused, 0},
		{ShuttingDown, 0},
	} {
		t.Run(tt.why.String(), func(t *testing.T) {
			m, ends := newMetered(t, 8, 8)
			e, pool := ends[1], &countingPool{}
			e.ni.pool = pool
			c := e.ni.conns.all()[0]
			e.then = func() {
				e.ni.completed(arrivals(t, c, 1))
				c.fail(newError(tt.why, lustre(c.peer.id), errors.New("a test")))
				e.ni.completed(arrivals(t, c, 2))
			}
			e.ni.completed(arrivals(t, c, 3))
			if e.delivered != 3+tt.late || pool.returned != 6 {
				t.Errorf("%d messages delivered, %d buffers returned", e.delivered, pool.returned)
			}
			m.runUntil(t, func() bool { return e.ni.conns.len() == 0 })
		})
	}
}

// TestLateOverdrawn: even after the end of a connection lnet gets no more messages from the peer
// than the peer had credits for.
func TestLateOverdrawn(t *testing.T) {
	_, ends := newMetered(t, 8, 8)
	e := ends[1]
	e.ni.pool = &countingPool{}
	c := e.ni.conns.all()[0]
	e.then = func() {
		c.fail(newError(SendTimeout, lustre(c.peer.id), nil))
		e.ni.completed(arrivals(t, c, 20))
	}
	e.ni.completed(arrivals(t, c, 3))
	if e.delivered != 8 {
		t.Errorf("%d messages delivered, want 8", e.delivered)
	}
}
