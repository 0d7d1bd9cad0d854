//go:build ibverbs && cgo && linux

package ibv

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs"
)

// TestOnFakeFailing: whichever call of the libraries fails, no object is left, and each
// waiting caller gets an error.
func TestOnFakeFailing(t *testing.T) {
	s := fake(t)
	for at := int64(1); ; at++ {
		*s = fakeState{failAt: at}
		err := everything(t)
		s.clean(t)
		if t.Failed() {
			t.Fatalf("when call %d fails: %v", at, err)
		}
		if s.calls < at {
			if err != nil {
				t.Errorf("when no call fails: %v", err)
			}
			t.Logf("%d calls can fail", s.calls)
			return
		}
	}
}

// everything opens two devices, connects them, moves some data, and closes all of it. It
// returns the first error.
func everything(t *testing.T) (err error) {
	a := &node{t: t, addr: netip.MustParseAddr("127.0.0.2"), done: make(chan verbs.Completion, 64), got: make(chan []byte, 64)}
	b := &node{t: t, addr: netip.MustParseAddr("127.0.0.3"), done: make(chan verbs.Completion, 64), got: make(chan []byte, 64)}
	defer a.closeSome()
	defer b.closeSome()
	if err := a.open(); err != nil {
		return err
	}
	if err := b.open(); err != nil {
		return err
	}
	if err := groups(a); err != nil {
		return err
	}
	y := newEnd(b)
	accepted := make(chan error, 1)
	l, err := b.dev.Listen(987, func(r verbs.Request) {
		var err error
		y.conn, err = r.Accept(verbs.ConnConfig{QP: b.qp()}, y.event)
		accepted <- err
	})
	if err != nil {
		return err
	}
	defer l.Close()
	x := newEnd(a)
	to := netip.AddrPortFrom(b.addr, 987)
	if x.conn, err = a.dev.Connect(to, verbs.ConnConfig{QP: a.qp(), SrcPort: 1000}, x.event); err != nil {
		return err
	}
	defer x.conn.Close()
	if ev := within(t, "an event", x.events); ev.Kind != verbs.Established {
		return fmt.Errorf("event %+v", ev)
	}
	if err := within(t, "an answer", accepted); err != nil {
		return err
	}
	defer y.conn.Close()
	y.want(verbs.Established)
	return move(x, y)
}

// groups uses a queue pair for datagrams: it joins a group and sends a datagram.
func groups(n *node) error {
	u, err := n.dev.NewUD(verbs.UDConfig{PD: n.pd, Sends: n.cq, Recvs: n.cq, Pool: n.pool, MaxSends: 4})
	if err != nil {
		return err
	}
	defer u.Close()
	group := netip.MustParseAddr("239.1.2.3")
	if err := u.Join(group); err != nil {
		return err
	}
	return u.PostSend([]verbs.Datagram{{To: group, QPN: verbs.MulticastQPN, Pieces: []verbs.SGE{{Bytes: []byte("x")}}}})
}

// move makes x write to the memory of y, and then send a message.
func move(x, y *end) error {
	pieces := [][]byte{make([]byte, 100), make([]byte, 100)}
	sink, err := y.pd.Register(pieces, verbs.LocalWrite|verbs.RemoteWrite)
	if err != nil {
		return err
	}
	defer sink.Deregister()
	data := pattern(200, 3)
	source, err := x.pd.Register([][]byte{data[:50], data[60:]}, 0)
	if err != nil {
		return err
	}
	err = x.conn.PostSend([]verbs.SendWR{
		{Op: verbs.Write, Pieces: []verbs.SGE{{Bytes: data[:50], MR: source}}, Remote: sink.Frags(nil)[0], RKey: sink.RKey()},
		{Pieces: []verbs.SGE{{Bytes: []byte("done")}}, Signaled: true, ID: 1},
	})
	if err != nil {
		source.Deregister()
		return err
	}
	x.wantDone(1, verbs.Success)
	source.Deregister()
	if got := within(x.t, "a message", y.got); string(got) != "done" {
		return fmt.Errorf("got %q", got)
	}
	return nil
}

// closeSome closes the objects that a failed open left.
func (n *node) closeSome() {
	if n.dev == nil {
		return
	}
	end := make(chan error, 1)
	go func() { end <- n.dev.Close() }()
	select {
	case err := <-end:
		if err != nil {
			n.t.Error(err)
		}
	case <-time.After(time.Minute):
		n.t.Fatal("a device does not close")
	}
}
