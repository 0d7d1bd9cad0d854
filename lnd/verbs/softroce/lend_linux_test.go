package softroce

import (
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/loan"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnd/verbs/softroce/wire"
)

// TestLend: a borrower receives messages in its own goroutine, call after call.
func TestLend(t *testing.T) {
	d := newDebt(t)
	d.lend()
	for n := range int64(50) {
		result := d.borrow()
		d.post(1)
		d.want(result, true)
		take(t, d.nodes[1].got)
		if got := d.inside.Load(); got != n+1 {
			t.Fatalf("Receive brought %d messages, want %d", got, n+1)
		}
	}
	if !d.lending.Receive(&d.by) || d.inside.Load() != 50 {
		t.Error("Receive for who does not wait")
	}
	if n := d.nodes[1].device.(*device).Stats().Transport.Duplicates; n > 0 {
		t.Errorf("%d packets were taken twice", n)
	}
	d.giveBack()
}

// TestLendEnds: what ends a loan; then the port's own goroutine reads.
func TestLendEnds(t *testing.T) {
	for name, end := range map[string]func(d *debt, result chan bool){
		"an interruption, and Return": func(d *debt, result chan bool) {
			d.by.waiting.Store(false)
			d.lending.Interrupt(&d.by)
			d.want(result, true)
			d.lending.Return(&d.by)
		},
		"a transfer": func(d *debt, result chan bool) {
			d.write(0, 100)
			d.want(result, false)
		},
		"a message of several packets": func(d *debt, result chan bool) {
			if err := d.conns[0].PostSend([]verbs.SendWR{send(1, make([]byte, 3000))}); err != nil {
				d.Error(err)
			}
			d.want(result, false)
			take(d, d.nodes[1].got)
		},
		"a transfer of its own": func(d *debt, result chan bool) {
			d.nodes[1].device.(*device).hub.allowance.used.Add(mostQuietOut + 1)
			d.post(1)
			d.want(result, false)
			take(d, d.nodes[1].got)
		},
		"a stream": func(d *debt, result chan bool) {
			wrs := make([]verbs.SendWR, mostQuiet+1)
			for i := range wrs {
				wrs[i] = send(1, make([]byte, 1024)) // they leave as one
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
			d := newDebt(t)
			d.lend()
			end(d, d.borrow())
			d.wantOwn()
		})
	}
}

// write has one node write so many bytes to the other's memory.
func (d *debt) write(from, n int) {
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

// TestLendRecalled: who posts what needs an answer has the port's own goroutine read; an
// answer does not, unless the borrower is late.
func TestLendRecalled(t *testing.T) {
	for name, tt := range map[string]struct {
		wrs  []verbs.SendWR
		late time.Duration
		want loan.State
	}{
		"an answer":                {wrs: make([]verbs.SendWR, 1), want: loan.Lent},
		"an answer in time":        {wrs: make([]verbs.SendWR, 1), late: loan.Patience, want: loan.Lent},
		"a late one":               {wrs: make([]verbs.SendWR, 1), late: loan.Patience + 1, want: loan.Own},
		"as much as may be":        {wrs: make([]verbs.SendWR, mostQuietOut), want: loan.Lent},
		"more than leaves at once": {wrs: make([]verbs.SendWR, mostQuietOut+1), want: loan.Own},
		"a transfer":               {want: loan.Own},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDebt(t)
			defer d.giveBack()
			d.lend()
			d.nodes[1].device.(*device).hub.clock.(*emulator.Clock).Run(tt.late)
			for i := range tt.wrs {
				tt.wrs[i] = send(uint64(i), make([]byte, 8))
			}
			if tt.wrs == nil {
				d.write(1, 100)
			} else if err := d.conns[1].PostSend(tt.wrs); err != nil {
				t.Fatal(err)
			}
			if s := d.lending.Snapshot(); s.State != tt.want {
				t.Errorf("%+v, want state %d", s, tt.want)
			}
		})
	}
}

// TestLendUnused: what comes while nobody uses a right is read all the same.
func TestLendUnused(t *testing.T) {
	d := newDebt(t)
	d.nodes[1].device.(*device).hub.port.(*udpPort).loans.Period = time.Millisecond
	d.ask()
	d.post(1)
	take(t, d.nodes[1].got)
	d.wantOwn()
}

// TestLendClosed: a port is closed while its reading is lent, and while somebody reads:
// that waits for no borrower who is away.
func TestLendClosed(t *testing.T) {
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
			p.loans.Period = time.Hour
			l := p.lendFor(&hub{clock: emulator.NewClock(), ingress: newIngress(p.attr.Local), allowance: new(allowance)}).(*loan.Lending)
			close(ready)
			l.Forgive()
			by.waiting.Store(true)
			l.Ask(&by)
			if _, err := p.Send([]wire.Burst{{To: p.attr.Local, Size: 1, Segments: 1, Bytes: []byte{1}}}); err != nil {
				t.Fatal(err)
			}
			d := &debt{T: t, lending: l}
			d.await(loan.Lent)
			result := make(chan bool, 1)
			if reads {
				by.waiting.Store(true)
				go func() { result <- l.Receive(&by) }()
				d.await(loan.Borrowed)
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

// TestLendOthers: a borrower serves all handles of the address, each in its own upcalls.
func TestLendOthers(t *testing.T) {
	d := newDebt(t)
	first := d.nodes[1]
	second := openNode(t, Open, verbs.OpenConfig{Addr: first.device.Attr().Addr, Clock: emulator.NewClock()})
	if second.device.(verbs.Lending).Lender() != d.lending {
		t.Fatal("two lenders of one socket")
	}
	d.lend()
	result := d.borrow()
	d.nodes[0].listen()
	conns := connect(t, second, d.nodes[0])
	if err := conns[1].PostSend([]verbs.SendWR{send(7, []byte("to the second"))}); err != nil {
		t.Fatal(err)
	}
	if m := take(t, second.got); string(m) != "to the second" {
		t.Errorf("%q", m)
	}
	if s := d.lending.Snapshot(); s.State != loan.Borrowed {
		t.Errorf("%+v: the borrower goes on waiting", s)
	}
	d.post(1)
	d.want(result, true)
}

// TestLentACK: while the reading is lent the ACK of a message leaves behind what is
// posted, or when somebody reads again, or with the connection.
func TestLentACK(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(d *debt)
		want []ibta.OpCode
	}{
		"an answer": {func(d *debt) {
			if err := d.conns[1].PostSend([]verbs.SendWR{send(2, make([]byte, 8))}); err != nil {
				d.Error(err)
			}
		}, []ibta.OpCode{ibta.SendOnly, ibta.Acknowledge}},
		"Receive":    {func(d *debt) { d.borrow() }, []ibta.OpCode{ibta.Acknowledge}},
		"Return":     {func(d *debt) { d.lending.Return(&d.by) }, []ibta.OpCode{ibta.Acknowledge}},
		"Disconnect": {func(d *debt) { d.conns[1].Disconnect() }, []ibta.OpCode{ibta.Acknowledge, ibta.UDSendOnly}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDebt(t)
			defer d.giveBack() // closing needs somebody who reads
			for begun := false; !begun; {
				begun = take(t, d.sent) == ibta.UDSendOnly // of the connection manager
			}
			d.lend()
			select {
			case op := <-d.sent:
				t.Fatalf("%v is sent while nobody reads", op)
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

// TestLentOthersACK: what came of others beside a borrower's message is acknowledged
// before he has to come back.
func TestLentOthersACK(t *testing.T) {
	d := newDebt(t)
	defer d.giveBack()
	first := d.conns
	second := connect(t, d.nodes[0], d.nodes[1])
	d.lend()
	h := d.nodes[1].device.(*device).hub
	for range 100 {
		for _, c := range []verbs.Conn{first[0], second[0]} {
			if err := c.PostSend([]verbs.SendWR{send(1, make([]byte, 8))}); err != nil {
				t.Fatal(err)
			}
		}
		d.by.waiting.Store(true)
		if !d.lending.Receive(&d.by) {
			t.Fatalf("%+v", d.lending.Snapshot())
		}
		if !h.ingress.several { // the second is on its way yet
			continue
		}
		if len(h.holding) > 0 {
			t.Error("ACKs of two connections wait for the borrower")
		}
		return
	}
	t.Fatal("the messages of two connections never come together")
}

// TestLaterAnswer: an answer that goes out says what an ACK that is held would say.
func TestLaterAnswer(t *testing.T) {
	d := newDebt(t)
	d.lend()
	c := d.conns[1].(*conn)
	c.mu.Lock()
	again := ibta.Packet{BTH: ibta.BTH{OpCode: ibta.SendOnly, PSN: c.rc.resp.expected.Add(-1), DestQP: c.qpn}}
	held := c.ackHeld
	c.mu.Unlock()
	if !held {
		t.Fatal("no ACK is held")
	}
	for len(d.sent) > 0 {
		<-d.sent
	}
	c.arrived(c.route.To, []ibta.Packet{again}) // instead of who has the right
	if op := take(t, d.sent); op != ibta.Acknowledge {
		t.Errorf("%v is sent", op)
	}
	c.mu.Lock()
	held = c.ackHeld
	c.mu.Unlock()
	if held {
		t.Error("the ACK is still held")
	}
	d.giveBack()
}
