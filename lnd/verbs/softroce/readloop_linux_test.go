package softroce

import (
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/readloop"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnd/verbs/softroce/wire"
)

// TestReadLoop: a follower receives messages in its own goroutine, call after call.
func TestReadLoop(t *testing.T) {
	d := newReadLoopPair(t)
	d.handOver()
	for n := range int64(50) {
		result := d.receive()
		d.post(1)
		d.want(result, true)
		take(t, d.nodes[1].got)
		if got := d.inside.Load(); got != n+1 {
			t.Fatalf("Receive delivered %d messages, want %d", got, n+1)
		}
	}
	if !d.loop.Receive(&d.by) || d.inside.Load() != 50 {
		t.Error("Receive of a follower that does not wait")
	}
	if n := d.nodes[1].device.(*device).Stats().Transport.Duplicates; n > 0 {
		t.Errorf("%d packets were taken twice", n)
	}
	d.endHandOver()
}

// TestReadLoopEnds: after each event that ends a hand-over the port's own goroutine reads.
func TestReadLoopEnds(t *testing.T) {
	for name, end := range map[string]func(d *readLoopPair, result chan bool){
		"an interruption, and Return": func(d *readLoopPair, result chan bool) {
			d.by.waiting.Store(false)
			d.loop.Interrupt(&d.by)
			d.want(result, true)
			d.loop.Return(&d.by)
		},
		"a transfer": func(d *readLoopPair, result chan bool) {
			d.write(0, 100)
			d.want(result, false)
		},
		"a message of several packets": func(d *readLoopPair, result chan bool) {
			if err := d.conns[0].PostSend([]verbs.SendWR{send(1, make([]byte, 3000))}); err != nil {
				d.Error(err)
			}
			d.want(result, false)
			take(d, d.nodes[1].got)
		},
		"a transfer of its own": func(d *readLoopPair, result chan bool) {
			d.nodes[1].device.(*device).hub.allowance.used.Add(maxQuietOut + 1)
			d.post(1)
			d.want(result, false)
			take(d, d.nodes[1].got)
		},
		"a stream": func(d *readLoopPair, result chan bool) {
			wrs := make([]verbs.SendWR, maxQuiet+1)
			for i := range wrs {
				wrs[i] = send(1, make([]byte, 1024)) // the messages leave as one burst
			}
			if err := d.conns[0].PostSend(wrs); err != nil {
				d.Error(err)
			}
			d.want(result, false)
			for range wrs {
				take(d, d.nodes[1].got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newReadLoopPair(t)
			d.handOver()
			end(d, d.receive())
			d.wantOwn()
		})
	}
}

// write makes one node write n bytes to the other's memory.
func (d *readLoopPair) write(from, n int) {
	d.Helper()
	mr, err := d.nodes[1-from].pd.Register([][]byte{make([]byte, n)}, both)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(mr.Deregister)
	wr := verbs.SendWR{ID: 2, Op: verbs.Write, Signaled: true, Remote: mr.Frags(nil)[0], RKey: mr.RKey(), Pieces: []verbs.SGE{{Bytes: make([]byte, n)}}}
	if err := d.conns[from].PostSend([]verbs.SendWR{wr}); err != nil {
		d.Fatal(err)
	}
}

// TestReadLoopRecalled: a post that needs an answer soon returns the loop to the port's own
// goroutine; a post that answers a message does not, unless the follower is late.
func TestReadLoopRecalled(t *testing.T) {
	for name, tt := range map[string]struct {
		wrs  []verbs.SendWR
		late time.Duration
		want readloop.State
	}{
		"an answer":                {wrs: make([]verbs.SendWR, 1), want: readloop.Idle},
		"an answer in time":        {wrs: make([]verbs.SendWR, 1), late: readloop.MaxAbsence, want: readloop.Idle},
		"a late one":               {wrs: make([]verbs.SendWR, 1), late: readloop.MaxAbsence + 1, want: readloop.Own},
		"as much as may be":        {wrs: make([]verbs.SendWR, maxQuietOut), want: readloop.Idle},
		"more than leaves at once": {wrs: make([]verbs.SendWR, maxQuietOut+1), want: readloop.Own},
		"a transfer":               {want: readloop.Own},
	} {
		t.Run(name, func(t *testing.T) {
			d := newReadLoopPair(t)
			defer d.endHandOver()
			d.handOver()
			d.nodes[1].device.(*device).hub.clock.(*emulator.Clock).Run(tt.late)
			for i := range tt.wrs {
				tt.wrs[i] = send(uint64(i), make([]byte, 8))
			}
			if tt.wrs == nil {
				d.write(1, 100)
			} else if err := d.conns[1].PostSend(tt.wrs); err != nil {
				t.Fatal(err)
			}
			if s := d.loop.Snapshot(); s.State != tt.want {
				t.Errorf("%+v, want state %d", s, tt.want)
			}
		})
	}
}

// TestReadLoopUnused: packets that arrive while the loop is idle are read nevertheless.
func TestReadLoopUnused(t *testing.T) {
	d := newReadLoopPair(t)
	d.nodes[1].device.(*device).hub.port.(*udpPort).watchdog.Period = time.Millisecond
	d.request()
	d.post(1)
	take(t, d.nodes[1].got)
	d.wantOwn()
}

// TestReadLoopClosed: a port is closed while its read loop is idle, and while a follower runs
// it. Close does not wait for a follower that does not come back.
func TestReadLoopClosed(t *testing.T) {
	for name, reads := range map[string]bool{"away": false, "reading": true} {
		t.Run(name, func(t *testing.T) {
			var by waiter
			ready := make(chan struct{})
			c, err := udp{}.Open(wire.Config{Local: netip.AddrPortFrom(loopbackAddr(), 0), Receive: func([]wire.Datagrams) {
				<-ready
				by.waiting.Store(false)
			}})
			if err != nil {
				t.Fatal(err)
			}
			p := c.(*udpPort)
			p.watchdog.Period = time.Hour
			l := p.readLoopFor(&hub{clock: emulator.NewClock(), ingress: newIngress(p.attr.Local), allowance: new(allowance)}).(*readloop.Loop)
			close(ready)
			l.ForgetHistory()
			by.waiting.Store(true)
			l.Request(&by)
			if _, err := p.Send([]wire.Burst{{To: p.attr.Local, Size: 1, Segments: 1, Bytes: []byte{1}}}); err != nil {
				t.Fatal(err)
			}
			d := &readLoopPair{T: t, loop: l}
			d.await(readloop.Idle)
			result := make(chan bool, 1)
			if reads {
				by.waiting.Store(true)
				go func() { result <- l.Receive(&by) }()
				d.await(readloop.Taken)
			}
			closed := make(chan error)
			go func() { closed <- p.Close() }()
			if err := take(t, closed); err != nil {
				t.Error(err)
			}
			if reads {
				d.want(result, false)
			}
			if l.Receive(&by) {
				t.Error("Receive after the end")
			}
		})
	}
}

// TestReadLoopOthers: a follower makes the upcalls of all handles of the address.
func TestReadLoopOthers(t *testing.T) {
	d := newReadLoopPair(t)
	first := d.nodes[1]
	second := openNode(t, Open, verbs.OpenConfig{Addr: first.device.Attr().Addr, Clock: emulator.NewClock()})
	if second.device.(verbs.ReadLooper).ReadLoop() != d.loop {
		t.Fatal("two read loops of one socket")
	}
	d.handOver()
	result := d.receive()
	d.nodes[0].listen()
	conns := connect(t, second, d.nodes[0])
	if err := conns[1].PostSend([]verbs.SendWR{send(7, []byte("to the second"))}); err != nil {
		t.Fatal(err)
	}
	if m := take(t, second.got); string(m) != "to the second" {
		t.Errorf("%q", m)
	}
	if s := d.loop.Snapshot(); s.State != readloop.Taken {
		t.Errorf("%+v: the follower goes on waiting", s)
	}
	d.post(1)
	d.want(result, true)
}

// TestDelayedACK: while the read loop is idle, the ACK of a message is delayed. It is sent
// behind the next packets that are posted, when a goroutine reads again, or when the connection
// ends.
func TestDelayedACK(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(d *readLoopPair)
		want []ibta.OpCode
	}{
		"an answer": {func(d *readLoopPair) {
			if err := d.conns[1].PostSend([]verbs.SendWR{send(2, make([]byte, 8))}); err != nil {
				d.Error(err)
			}
		}, []ibta.OpCode{ibta.SendOnly, ibta.Acknowledge}},
		"Receive":    {func(d *readLoopPair) { d.receive() }, []ibta.OpCode{ibta.Acknowledge}},
		"Return":     {func(d *readLoopPair) { d.loop.Return(&d.by) }, []ibta.OpCode{ibta.Acknowledge}},
		"Disconnect": {func(d *readLoopPair) { d.conns[1].Disconnect() }, []ibta.OpCode{ibta.Acknowledge, ibta.UDSendOnly}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newReadLoopPair(t)
			defer d.endHandOver() // the Close of the device needs a goroutine that runs the read loop
			for begun := false; !begun; {
				// take what the node sends until it has sent the REP: only the connection manager sends
				// datagrams
				begun = take(t, d.sent) == ibta.UDSendOnly
			}
			d.handOver()
			select {
			case op := <-d.sent:
				t.Fatalf("%v is sent while no goroutine reads", op)
			default:
			}
			tt.do(d)
			for _, want := range tt.want {
				if op := take(t, d.sent); op != want {
					t.Errorf("%v is sent, want %v", op, want)
				}
			}
		})
	}
}

// TestOthersACK: packets of another connection that arrive beside the follower's message
// are acknowledged before the follower comes back.
func TestOthersACK(t *testing.T) {
	d := newReadLoopPair(t)
	defer d.endHandOver()
	first := d.conns
	second := connect(t, d.nodes[0], d.nodes[1])
	d.handOver()
	h := d.nodes[1].device.(*device).hub
	for range 100 {
		for _, c := range []verbs.Conn{first[0], second[0]} {
			if err := c.PostSend([]verbs.SendWR{send(1, make([]byte, 8))}); err != nil {
				t.Fatal(err)
			}
		}
		d.by.waiting.Store(true)
		if !d.loop.Receive(&d.by) {
			t.Fatalf("%+v", d.loop.Snapshot())
		}
		if !h.ingress.several { // the packet of the second connection is still in flight
			continue
		}
		if len(h.delayed) > 0 {
			t.Error("ACKs of two connections wait for the follower")
		}
		return
	}
	t.Fatal("the messages of two connections never come together")
}

// TestLaterAnswer: an ACK of a connection is delayed, and then the connection sends a later
// acknowledgement. The delayed ACK is dropped, because the later one acknowledges the same packets.
func TestLaterAnswer(t *testing.T) {
	d := newReadLoopPair(t)
	d.handOver()
	c := d.conns[1].(*conn)
	c.mu.Lock()
	again := ibta.Packet{BTH: ibta.BTH{OpCode: ibta.SendOnly, PSN: c.rc.resp.expected.Add(-1), DestQP: c.qpn}}
	delayed := c.ackDelayed
	c.mu.Unlock()
	if !delayed {
		t.Fatal("no ACK is delayed")
	}
	for len(d.sent) > 0 {
		<-d.sent
	}
	c.arrived(c.route.To, []ibta.Packet{again}) // the test handles the packet instead of the follower
	if op := take(t, d.sent); op != ibta.Acknowledge {
		t.Errorf("%v is sent", op)
	}
	c.mu.Lock()
	delayed = c.ackDelayed
	c.mu.Unlock()
	if delayed {
		t.Error("the ACK is still delayed")
	}
	d.endHandOver()
}
