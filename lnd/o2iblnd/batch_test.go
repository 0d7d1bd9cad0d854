package o2iblnd

import (
	"errors"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	lnetwire "ulnet/lnet/wire"
)

// arrivals returns the completions of IMMEDIATEs that the peer of c sends. Those with an index in
// broken have a wrong magic.
func arrivals(t *testing.T, c *conn, n int, broken ...int) (list []verbs.Completion) {
	t.Helper()
	cfg := c.x.cfg
	for i := range n {
		m := kib.Msg{Header: kib.Header{
			Version: cfg.version, Type: kib.Immediate, SrcNID: cfg.peer, SrcStamp: cfg.peerStamp, DstNID: cfg.local, DstStamp: cfg.stamp,
		}}
		m.LNet.SetPut(lnetwire.PutCmd{AckMD: lnetwire.NoHandle()})
		b, err := m.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range broken {
			if k == i {
				b[0]++
			}
		}
		list = append(list, verbs.Completion{ID: uint64(c.id) << 32, Op: verbs.Receive, Buffer: verbs.Buffer{Bytes: b}})
	}
	return list
}

// TestBrokenInBatch: one message of a batch breaks the protocol or is refused by lnet. The messages
// before it are delivered, and those behind it are dropped. All buffers are returned, and the
// connection ends with the error of that message.
func TestBrokenInBatch(t *testing.T) {
	for _, tt := range []struct {
		name   string
		broken []int
		refuse int
		want   int
		reason Reason
	}{
		{"broken", []int{3, 5}, 0, 3, BadMessage},
		{"the first one broken", []int{0}, 0, 0, BadMessage},
		{"refused", nil, 2, 2, Refused},
		{"refused before a broken one", []int{4}, 2, 2, BadMessage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, ends := newMetered(t, 8, 8)
			e, pool := ends[1], new(countingPool)
			e.refuse, e.ni.pool = tt.refuse, pool
			e.ni.completed(arrivals(t, e.ni.conns.all()[0], 7, tt.broken...))
			if e.delivered != tt.want || pool.returned != 7 {
				t.Errorf("%d messages delivered, %d buffers returned", e.delivered, pool.returned)
			}
			if s := e.ni.Snapshot(); s.Counters[tt.reason] != 1 {
				t.Errorf("%v", s.Counters)
			}
		})
	}
}

// TestEndedInBatch: a connection ends while lnet handles a message of a batch. The messages that
// have arrived are delivered, all buffers are returned, and the connection is removed when these
// messages have ended.
func TestEndedInBatch(t *testing.T) {
	for name, end := range map[string]func(e *metered, c *conn){
		"lnet closes the peer":   func(e *metered, _ *conn) { e.ni.ClosePeer(e.free[0].Target.NID, 0, errors.New("dead")) },
		"the device disconnects": func(_ *metered, c *conn) { c.vc.Disconnect() },
		"the device has no memory": func(_ *metered, c *conn) {
			c.completed([]verbs.Completion{{ID: uint64(noopID), Status: verbs.General}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, ends := newMetered(t, 8, 8)
			e := ends[1]
			c := e.ni.conns.all()[0]
			pool := &countingPool{}
			e.ni.pool = pool
			if name == "the device has no memory" {
				c.x.sends++
				c.x.noops++ // as if the exchange had posted the NOOP that the device is going to report as failed
			}
			e.then = func() { end(e, c) }
			e.ni.completed(arrivals(t, c, 7))
			if e.delivered != 7 || pool.returned != 7 {
				t.Errorf("%d messages delivered, %d buffers returned", e.delivered, pool.returned)
			}
			m.runUntil(t, func() bool { return e.ni.conns.len() == 0 })
			e.ni.completed(arrivals(t, c, 7)) // completions that come after the end of their connection
			if e.delivered != 7 || pool.returned != 14 {
				t.Errorf("%d messages delivered, %d buffers returned", e.delivered, pool.returned)
			}
		})
	}
}

// TestWaitingBounded: while lnet handles a message of a connection, only as many further messages wait as
// its queue depth allows, also if they arrived in the same batch. All buffers are returned.
func TestWaitingBounded(t *testing.T) {
	for _, depth := range []int{8, 64} {
		_, ends := newMetered(t, depth, depth)
		e, pool := ends[1], new(countingPool)
		e.ni.pool = pool
		c := e.ni.conns.all()[0]
		together := min(depth, mostHandled+3)
		room := 2*depth + maxNoops + 1 - max(0, together-mostHandled)
		e.then = func() {
			for _, tt := range []struct {
				arrive int
				over   uint64
			}{{room, 0}, {1, 1}} {
				e.ni.completed(arrivals(t, c, tt.arrive))
				if n := e.ni.Snapshot().Counters[CreditsOverdrawn]; n != tt.over {
					t.Errorf("depth %d, %d more messages: overdrawn %d times", depth, tt.arrive, n)
				}
			}
		}
		e.ni.completed(arrivals(t, c, together))
		if pool.returned != together+room+1 {
			t.Errorf("depth %d: %d buffers returned", depth, pool.returned)
		}
	}
}

// TestWaitingBoundedEarly: before a connection is established only as many messages wait as its queue depth
// allows, whichever side requested it. One message more ends the connection, and all buffers are returned.
func TestWaitingBoundedEarly(t *testing.T) {
	for name, dialled := range map[string]bool{"accepted": false, "dialled": true} {
		t.Run(name, func(t *testing.T) {
			_, ends := newMetered(t, 8, 8)
			e, pool := ends[1], new(countingPool)
			e.ni.pool = pool
			open := e.ni.conns.all()[0]
			list := arrivals(t, open, 2*8+maxNoops+1)
			c := e.ni.newConn(open.peer, dialled)
			if c.ask.depth = 8; !dialled {
				c.depth, c.ask.depth = 8, 0
			}
			c.vc = unposted{open.vc}
			c.receive(list)
			if pool.returned != 0 || c.state != connOpening {
				t.Fatalf("%d buffers returned, state %v", pool.returned, c.state)
			}
			if c.receive(list[:1]); pool.returned != len(list)+1 || c.state == connOpening {
				t.Errorf("%d buffers returned, state %v", pool.returned, c.state)
			}
		})
	}
}

// unposted is a connection of a device that never completes what is posted.
type unposted struct{ verbs.Conn }

func (unposted) PostSend([]verbs.SendWR) error { return nil }

// meanwhile is a connection of a device. Its next PostSend calls then, in place of another goroutine that
// does something at that time.
type meanwhile struct {
	verbs.Conn
	then   func()
	posted int
}

func (c *meanwhile) PostSend(wrs []verbs.SendWR) error {
	c.posted += len(wrs)
	if then := c.then; then != nil {
		c.then = nil
		then()
	}
	return nil
}

// watched is an lnet that calls the function finalizing whenever a message is finalized.
type watched struct {
	lnd.Upcalls
	finalizing func()
}

func (u watched) Finalize(m *lnd.Message, err error) {
	u.finalizing()
	u.Upcalls.Finalize(m, err)
}

// TestPostedBeforeUpcalls: a goroutine posts, and then finalizes a message. A message that another
// goroutine sends in between is posted before that Finalize, because lnet's handlers may take long.
func TestPostedBeforeUpcalls(t *testing.T) {
	_, ends := newMetered(t, 8, 8)
	e := ends[0]
	c := e.ni.conns.all()[0]
	vc := &meanwhile{Conn: c.vc}
	c.vc, c.x.cfg.concurrent = vc, 2
	for range 3 {
		e.send()
	}
	vc.then = func() {
		c.x.cfg.concurrent++ // so that the exchange may post the message at once
		e.send()
	}
	finalized := 0
	e.ni.up = watched{e.ni.up, func() {
		if finalized++; vc.posted != 4 {
			t.Errorf("%d of 4 messages are posted when lnet is called", vc.posted)
		}
	}}
	e.ni.completed([]verbs.Completion{{ID: uint64(c.id) << 32, Op: verbs.Send}}) // ends the first message, so that the third may be posted
	if finalized != 1 || vc.posted != 4 {
		t.Errorf("%d finalized, %d posted", finalized, vc.posted)
	}
}

// TestErrorInBatch: a batch of completions has an error in it. The messages before the error have
// left, and the others end with an error.
func TestErrorInBatch(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status []verbs.Status
		left   int
	}{
		{"second", []verbs.Status{verbs.Success, verbs.RemoteAccess, verbs.Flushed, verbs.Flushed, verbs.Flushed}, 1},
		{"all flushed", []verbs.Status{verbs.Flushed, verbs.Flushed, verbs.Flushed, verbs.Flushed, verbs.Flushed}, 0},
		{"flushed behind successes", []verbs.Status{verbs.Success, verbs.Success, verbs.Success, verbs.Flushed, verbs.Flushed}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, ends := newMetered(t, 8, 8)
			e := ends[0]
			c := e.ni.conns.all()[0]
			c.vc = unposted{c.vc}
			var list []verbs.Completion
			for i, s := range tt.status {
				e.send()
				list = append(list, verbs.Completion{ID: uint64(c.id)<<32 | uint64(i), Op: verbs.Send, Status: s})
			}
			e.ni.completed(list)
			m.runUntil(t, func() bool { return e.finalized == len(list) })
			if left := len(list) - len(e.errs); left != tt.left {
				t.Errorf("%d messages of %d have left, want %d: %v", left, len(list), tt.left, e.errs)
			}
			for _, err := range e.errs {
				if f := new(Error); !errors.As(err, &f) || f.Reason != TransportFailed && f.Reason != PeerClosed {
					t.Errorf("%v", err)
				}
			}
		})
	}
}
