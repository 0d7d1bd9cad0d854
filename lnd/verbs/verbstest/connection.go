package verbstest

import (
	"bytes"
	"errors"
	"net/netip"
	"testing"

	"ulnet/lnd/verbs"
)

func attr(t *testing.T, s *suite) {
	a, b := s.nodes[0].device.Attr(), s.nodes[1].device.Attr()
	for _, x := range []verbs.DeviceAttr{a, b} {
		if !x.Addr.IsValid() || x.GUID == 0 || x.MTU < 256 || x.MTU > 4096 || x.MTU&(x.MTU-1) != 0 || x.Frags < 1 || x.SGEs < 1 {
			t.Errorf("%+v", x)
		}
	}
	if a.Addr == b.Addr {
		t.Error("the devices have one address")
	}
}

// connects: private data and the port that is claimed get to the peer.
func connects(t *testing.T, s *suite) {
	s.listen(1)
	asked, tellAsked := tell()
	accepted, tellAccepted := tell()
	cfg := s.nodes[0].config()
	cfg.SrcPort, cfg.Private = 1023, message(1, verbs.MaxRequestPrivate)
	c, err := s.nodes[0].device.Connect(s.to(1), cfg, tellAsked)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.PostSend([]verbs.SendWR{copied(1, nil)}); !errors.Is(err, verbs.ErrState) {
		t.Errorf("posted before the peer has answered: %v", err)
	}
	clear(cfg.Private) // the device has copied the private data
	r := take(t, s.nodes[1].requests)
	if want := netip.AddrPortFrom(s.nodes[0].device.Attr().Addr, 1023); r.Peer() != want {
		t.Errorf("request of %v, want %v", r.Peer(), want)
	}
	if !bytes.Equal(r.Private(), message(1, verbs.MaxRequestPrivate)) {
		t.Errorf("private data %x", r.Private())
	}
	cfg = s.nodes[1].config()
	cfg.Private = message(2, verbs.MaxAcceptPrivate)
	d, err := r.Accept(cfg, tellAccepted)
	if err != nil {
		t.Fatal(err)
	}
	if e := take(t, asked); e.Kind != verbs.Established || !bytes.Equal(e.Private, message(2, verbs.MaxAcceptPrivate)) || e.conn != c {
		t.Errorf("%+v", e)
	}
	if e := take(t, accepted); e.Kind != verbs.Established || e.conn != d {
		t.Errorf("%+v", e)
	}
}

// smallerMTU: a device can open connections with a smaller path MTU, or its attributes say that it cannot
// (FixedMTU).
func smallerMTU(t *testing.T, s *suite) {
	s.listen(1)
	x := s.nodes[0].device.Attr()
	cfg := s.nodes[0].config()
	if cfg.MTU = x.MTU / 2; cfg.MTU < 256 {
		t.Skip("the device has the smallest MTU")
	}
	events, tells := tell()
	_, err := s.nodes[0].device.Connect(s.to(1), cfg, tells)
	if refused := err != nil; refused != x.FixedMTU {
		t.Fatalf("%+v: %v", x, err)
	}
	if x.FixedMTU {
		return
	}
	if _, err := take(t, s.nodes[1].requests).Accept(s.nodes[1].config(), func(verbs.Conn, verbs.Event) {}); err != nil {
		t.Fatal(err)
	}
	if e := take(t, events); e.Kind != verbs.Established {
		t.Errorf("%+v", e)
	}
}

// rejects: a consumer's refusal comes with its reason and private data.
func rejects(t *testing.T, s *suite) {
	s.listen(1)
	events, tells := tell()
	c, err := s.nodes[0].device.Connect(s.to(1), s.nodes[0].config(), tells)
	if err != nil {
		t.Fatal(err)
	}
	if err := take(t, s.nodes[1].requests).Reject(message(3, verbs.MaxRejectPrivate)); err != nil {
		t.Fatal(err)
	}
	e := take(t, events)
	if e.Kind != verbs.Rejected || e.Reason != 28 || !bytes.Equal(e.Private, message(3, verbs.MaxRejectPrivate)) {
		t.Errorf("%+v", e)
	}
	if err := c.PostSend([]verbs.SendWR{copied(1, nil)}); !errors.Is(err, verbs.ErrClosed) {
		t.Errorf("posted after the refusal: %v", err)
	}
	c.Close()
}

func noListener(t *testing.T, s *suite) {
	if err := s.listen(1).Close(); err != nil {
		t.Error(err)
	}
	events, tells := tell()
	if _, err := s.nodes[0].device.Connect(s.to(1), s.nodes[0].config(), tells); err != nil {
		t.Fatal(err)
	}
	if e := take(t, events); e.Kind != verbs.Rejected || e.Reason != 8 {
		t.Errorf("%+v", e)
	}
}

// listens: a port has one listener, and is free again after Close.
func listens(t *testing.T, s *suite) {
	l := s.listen(1)
	if _, err := s.nodes[1].device.Listen(port, func(verbs.Request) {}); err == nil {
		t.Error("two listeners at one port")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	s.connect()
}

// disconnect checks that both ends get Disconnected as the last event, and that work requests
// which are posted after that complete as Flushed.
func disconnect(t *testing.T, s *suite) {
	x := s.connect()
	s.post(x.conns[0], copied(1, message(1, 100)))
	s.done(0, x.conns[0], 1, verbs.Send, verbs.Success)
	x.conns[0].Disconnect()
	x.conns[0].Disconnect()
	for i, c := range x.events {
		if e := take(t, c); e.Kind != verbs.Disconnected || e.Status != verbs.Success {
			t.Errorf("end %d: %+v", i, e)
		}
		s.post(x.conns[i], copied(2, nil), verbs.SendWR{ID: 3, Op: verbs.Send})
		s.done(i, x.conns[i], 2, verbs.Send, verbs.Flushed)
		s.done(i, x.conns[i], 3, verbs.Send, verbs.Flushed)
	}
	s.arrives(1, x.conns[1], message(1, 100)) // the consumer still has the buffer of this message
	for i, c := range x.conns {
		c.Close()
		if len(x.events[i]) > 0 {
			t.Error("an event after the last")
		}
		if err := c.PostSend([]verbs.SendWR{copied(4, nil)}); !errors.Is(err, verbs.ErrClosed) {
			t.Error(err)
		}
	}
}

// closes checks that Close disconnects without a further event.
func closes(t *testing.T, s *suite) {
	x := s.connect()
	x.conns[0].Close()
	if e := take(t, x.events[1]); e.Kind != verbs.Disconnected {
		t.Errorf("%+v", e)
	}
	s.nodes[0].close()
	if len(x.events[0]) > 0 {
		t.Errorf("%+v", <-x.events[0])
	}
}

// closeDevice: the end of a device ends its connections, with an event at the peer.
func closeDevice(t *testing.T, s *suite) {
	x := s.connect()
	s.nodes[0].close()
	if len(x.events[0]) != 1 { // no upcall follows Close
		t.Fatal("no event")
	}
	for i, c := range x.events {
		if e := take(t, c); e.Kind != verbs.Disconnected {
			t.Errorf("end %d: %+v", i, e)
		}
	}
	if _, err := s.nodes[0].device.Connect(s.to(1), s.nodes[0].config(), func(verbs.Conn, verbs.Event) {}); err == nil {
		t.Error("a closed device connects")
	}
}
