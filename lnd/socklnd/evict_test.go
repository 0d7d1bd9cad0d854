package socklnd

import (
	"testing"
	"time"

	"ulnet/lnd/socklnd/ksock"
)

// answered is a fake connection. Reads return the bytes of a handshake, and then block until over
// is closed. The first write, which is our HELLO, calls the function in the field then.
type answered struct {
	replayConn
	then func()
	over chan struct{}
}

func (c *answered) Read(b []byte) (int, error) {
	n, err := c.replayConn.Read(b)
	if err != nil {
		<-c.over
	}
	return n, err
}

func (c *answered) Write(b []byte) (int, error) {
	n, err := c.replayConn.Write(b)
	if then := c.then; then != nil && err == nil {
		c.then = nil
		then()
	}
	return n, err
}

func (c *answered) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// shaking is an acceptor that allows one unfinished handshake at a time, and a handshake with it
// that is in progress.
type shaking struct {
	h    *host
	a    *acceptor
	conn *answered
	hs   *handshake
}

func newShaking(t *testing.T) *shaking {
	x := &shaking{h: start(t, "10.0.0.2", Config{Accept: AcceptNone, MaxHandshakes: 1})}
	x.conn = &answered{replayConn: replayConn{data: unhex(t, request+helloCtl), step: 1000}, over: make(chan struct{})}
	t.Cleanup(func() { close(x.conn.over) })
	x.a = newAcceptor(x.h.ni, nil)
	x.hs = x.handshake(x.conn)
	return x
}

func (x *shaking) handshake(c *answered) *handshake {
	return &handshake{shake: newShake(x.h.ni, c, false, time.Minute)}
}

// enter lets another handshake begin, and returns those that are evicted to make room.
func (x *shaking) enter() []*handshake {
	evicted, _ := x.a.enter(x.handshake(new(answered)))
	return evicted
}

// TestEstablishedIsNotEvicted: a connection belongs to its peer already, but the goroutine of its
// handshake has not ended yet. Another connection, for which a handshake has to be evicted, does
// not close the first one.
func TestEstablishedIsNotEvicted(t *testing.T) {
	x := newShaking(t)
	x.a.enter(x.hs)
	if r := x.a.serve(x.hs); r != nil {
		t.Fatal(r)
	}
	if evicted := x.enter(); len(evicted) > 0 || x.conn.isClosed() {
		t.Error("the connection was closed")
	}
	x.a.leave(x.hs)
	if n := len(x.h.ni.Snapshot().Peers); n != 1 {
		t.Errorf("%d peers", n)
	}
}

// TestEvictedIsNotAccepted: a handshake is evicted while our HELLO is being written. The connection does
// not become one of the peer's, and the peer can connect again.
func TestEvictedIsNotAccepted(t *testing.T) {
	x := newShaking(t)
	x.a.enter(x.hs)
	x.conn.then = func() {
		if evicted := x.enter(); len(evicted) != 1 {
			t.Errorf("%d handshakes are evicted", len(evicted))
		}
	}
	if r := x.a.serve(x.hs); r == nil {
		t.Error("the evicted connection was accepted")
	}
	x.a.leave(x.hs)
	if len(x.h.ups)+len(x.h.downs) > 0 {
		t.Errorf("up %v, down %v", x.h.ups, x.h.downs)
	}
	p, out := x.h.ni.decide(probeID, setInput{kind: setHello, ctype: ksock.Control, version: ksock.V3, incarnation: 7})
	if out.outcome != outcomeAccept {
		t.Errorf("the next connection of %v: %v", p.id, out.outcome)
	}
}
