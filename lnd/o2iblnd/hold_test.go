package o2iblnd

import (
	"bytes"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// TestHoldMany: lnet holds maxKept messages whose credits are returned, and then as many more as the peer has credits
// for. Further messages wait at the peer until lnet goes on, except for a priority message, which lnet holds as well.
func TestHoldMany(t *testing.T) {
	const n = 200
	v := newVirtual(t, Config{})
	a, b := v.ups[0], v.ups[1]
	b.hold = true
	for i := range n {
		v.nis[0].Send(newMessage(v.nis[0], v.nis[1].nid, i))
	}
	held := func(n int) func(s *sink) bool { return func(s *sink) bool { return len(s.held) == n } }
	v.until("held messages", time.Second, held(maxKept+7), b)
	v.clock.Run(v.clock.Now() + time.Second)
	if len(b.held) != maxKept+7 {
		t.Fatalf("%d held", len(b.held))
	}
	if s := v.nis[1].Snapshot(); s.Receives.Free != 1024 {
		t.Errorf("%d buffers are free", s.Receives.Free)
	}
	urgent := newMessage(v.nis[0], v.nis[1].nid, 10)
	urgent.Priority = true
	v.nis[0].Send(urgent)
	v.until("the urgent one", time.Second, held(maxKept+8), b)
	b.mu.Lock()
	b.hold = false
	list := b.held
	b.held = nil
	b.mu.Unlock()
	for _, d := range list {
		segments, size := d.Sink.Segments, int(d.Header.PayloadLength)
		v.nis[1].Recv(d) // from now on d belongs to the driver
		if got := bytes.Join(segments, nil); !bytes.Equal(got, noise[:size]) {
			t.Fatalf("a payload of %d bytes has changed", size)
		}
	}
	v.until("all", time.Second, func(s *sink) bool { return s.arrived == n+1 }, b)
	v.until("all ends", time.Second, func(s *sink) bool { return s.finished == n+1 }, a)
	if len(a.errs)+len(b.errs) > 0 {
		t.Errorf("%v %v", a.errs, b.errs)
	}
	v.shut(0)
	v.shut(1)
}

// TestHoldManyConns (OB-4): a peer makes four connections where this side would make one. On all four together lnet holds
// maxKept messages whose credits are returned, besides the messages that use up the credits of each connection.
func TestHoldManyConns(t *testing.T) {
	spec.Covers(t, "OB-4")
	const n, conns, perConn = 400, 4, 7
	v := newVirtual(t, Config{ConnsPerPeer: conns})
	v.nis[1].cfg.ConnsPerPeer = 1
	a, b := v.ups[0], v.ups[1]
	v.nis[0].Send(newMessage(v.nis[0], v.nis[1].nid, 10))
	v.clock.Run(v.clock.Now() + time.Second)
	b.hold = true
	for i := range n {
		v.nis[0].Send(newMessage(v.nis[0], v.nis[1].nid, i))
	}
	v.clock.Run(v.clock.Now() + time.Second)
	if l := v.nis[1].conns.len(); l != conns {
		t.Fatalf("%d connections", l)
	}
	taken := 0
	for range 2 {
		got := len(b.held) - taken
		if want := maxKept + conns*perConn; got != want {
			t.Fatalf("%d held, want %d", got, want)
		}
		for range got {
			v.nis[1].Recv(b.held[taken])
			taken++
		}
		v.clock.Run(v.clock.Now() + time.Second)
	}
	b.hold = false
	for _, d := range b.held[taken:] {
		v.nis[1].Recv(d)
	}
	v.until("all", time.Second, func(s *sink) bool { return s.arrived == n+1 }, b)
	v.until("all ends", time.Second, func(s *sink) bool { return s.finished == n+1 }, a)
	if p := v.nis[1].peers.Get(v.nis[0].nid); p.kept.Load() != 0 || len(a.errs)+len(b.errs) > 0 {
		t.Errorf("%d kept in the end, errors %v %v", p.kept.Load(), a.errs, b.errs)
	}
	v.shut(0)
	v.shut(1)
}

// TestHoldThenCut (OB-4): messages that lnet holds are lost with their connection. They do not count against the bound for
// the next connection.
func TestHoldThenCut(t *testing.T) {
	spec.Covers(t, "OB-4")
	v := newVirtual(t, Config{})
	b := v.ups[1]
	b.hold = true
	for range 2 {
		for i := range 2 * maxKept {
			v.nis[0].Send(newMessage(v.nis[0], v.nis[1].nid, i))
		}
		v.until("held messages", time.Second, func(s *sink) bool { return len(s.held) == maxKept+7 }, b)
		p := v.nis[1].peers.Get(v.nis[0].nid)
		p.fail(newError(Refused, lustre(p.id), nil))
		v.until("end", time.Minute, func(*sink) bool { return v.nis[0].conns.len()+v.nis[1].conns.len() == 0 }, b)
		if n := p.kept.Load(); n != 0 || len(b.held) > 0 {
			t.Fatalf("%d held, %d kept", len(b.held), n)
		}
	}
	v.shut(0)
	v.shut(1)
}
