package o2iblnd

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnet/wire"
)

// TestProtocols: short messages are immediate, up to 3976 bytes; the payload of all others is
// written to the peer's memory (o2iblnd-wire §8.1).
func TestProtocols(t *testing.T) {
	for _, n := range []int{0, 1, kib.MaxImmediate, kib.MaxImmediate + 1, 65536, 65537, lnd.MaxPayload} {
		p := newPair(t)
		a, b := p.ends[0], p.ends[1]
		m := a.send(wire.Put, n, 3, 1, false)
		p.settle()
		want := []kib.MsgType{kib.Immediate}
		if n > kib.MaxImmediate {
			want = []kib.MsgType{kib.PutReq, kib.PutDone}
		}
		if !slices.Equal(b.types, want) {
			t.Errorf("%d bytes: %v, want %v", n, b.types, want)
		}
		if err, ok := a.sent[m]; !ok || err != nil || m.SentAt != p.now {
			t.Errorf("%d bytes: ended %v with %v at %v", n, ok, err, m.SentAt)
		}
		b.wantData(n)
		if err := p.quiet(); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// TestPutTruncated: only as many bytes are transferred as the sink takes. If it takes none
// the answer is a PUT_NAK, which is no error (o2iblnd-wire §8.2).
func TestPutTruncated(t *testing.T) {
	p := newPair(t)
	a, b := p.ends[0], p.ends[1]
	b.want = 5000
	m := a.send(wire.Put, 100000, 300, 1, false)
	p.settle()
	if got := b.got[0].data; !slices.Equal(got, fill(100000)[:5000]) || a.sent[m] != nil {
		t.Errorf("%d bytes, error %v", len(got), a.sent[m])
	}
	b.want = 0
	m = a.send(wire.Put, 100000, 1, 1, false)
	p.settle()
	if err, ok := a.sent[m]; !ok || err != nil || !slices.Contains(a.types, kib.PutNak) {
		t.Errorf("a PUT_NAK ends the message: %v with %v; %v", ok, err, a.types)
	}
	if err := p.quiet(); err != nil {
		t.Error(err)
	}
}

// TestGet: a GET_REQ is answered by WRITEs and GET_DONE, also with less than was asked
// for, nothing, or an error (o2iblnd-wire §8.3).
func TestGet(t *testing.T) {
	for _, tt := range []struct {
		n      int
		status int32
		want   error
	}{{100000, 0, nil}, {48, 0, nil}, {0, 0, nil}, {-1, -61, syscall.ENODATA}} {
		p := newPair(t)
		a, b := p.ends[0], p.ends[1]
		m := a.send(wire.Get, 100000, 0, 257, false)
		p.settle()
		b.answer(tt.n, tt.status)
		p.settle()
		err, ok := a.sent[m]
		if e, _ := err.(*Error); !ok || (tt.want == nil) != (err == nil) || e != nil && e.Errno != tt.want {
			t.Errorf("%d bytes: ended %v with %v", tt.n, ok, err)
		}
		if tt.n >= 0 {
			a.wantData(tt.n)
		} else {
			clear(a.memory)
		}
		if err := p.quiet(); err != nil {
			t.Errorf("%d bytes: %v", tt.n, err)
		}
	}
}

// TestCreditTrace: credits are given back as in the recording of o2iblnd-wire §9. A GET_DONE and the
// reply after it give no credits back. The next request gives two back: for the GET_REQ and for the reply.
func TestCreditTrace(t *testing.T) {
	p := newPair(t)
	a, b := p.ends[0], p.ends[1]
	for range 3 { // a request, the server's GET_REQ, its answer, and the reply
		a.send(wire.Put, 160, 1, 1, false)
		p.settle()
		b.send(wire.Get, 65536, 0, 1, false)
		p.settle()
		a.answer(65536, 0)
		p.settle()
		b.send(wire.Put, 160, 1, 1, false)
		p.settle()
	}
	// Each request but the first returns to b the two credits that b spent on its GET_REQ and
	// reply.
	if want := []uint8{0, 0, 2, 0, 2, 0}; !slices.Equal(b.give, want) {
		t.Errorf("the server got credits %v with %v, want %v", b.give, b.types, want)
	}
	if want := []uint8{1, 0, 1, 0, 1, 0}; !slices.Equal(a.give, want) {
		t.Errorf("the client got credits %v with %v, want %v", a.give, a.types, want)
	}
}

// TestNoop: a side that owes its peer four credits, and has nothing else to send, gives them back
// by a NOOP. The peer owes no credit for the NOOP and does not answer it, so two idle peers fall
// silent (o2iblnd-wire §9, §14).
func TestNoop(t *testing.T) {
	p := newPair(t)
	a, b := p.ends[0], p.ends[1]
	for i := range 4 {
		a.send(wire.Put, i, 1, 1, false)
		p.settle()
	}
	if want := []kib.MsgType{kib.Noop}; !slices.Equal(a.types, want) || a.give[0] != 4 {
		t.Errorf("got %v with credits %v, want one NOOP with 4", a.types, a.give)
	}
	if len(b.types) != 4 {
		t.Errorf("the NOOP was answered: %v", b.types)
	}
}

// TestKeepalive: a connection that has sent nothing for 100 s sends a NOOP.
func TestKeepalive(t *testing.T) {
	p := newPair(t)
	a, b := p.ends[0], p.ends[1]
	wake := a.x.Step(p.now, exchangeIn{}, &a.out)
	if wake != p.now+100*time.Second {
		t.Fatalf("wake at %v", wake)
	}
	p.now = wake - 1
	a.step(exchangeIn{})
	p.settle()
	if len(b.types) > 0 {
		t.Fatalf("too early: %v", b.types)
	}
	p.now = wake
	a.step(exchangeIn{})
	p.settle()
	if want := []kib.MsgType{kib.Noop}; !slices.Equal(b.types, want) || b.give[0] != 0 {
		t.Errorf("got %v with credits %v", b.types, b.give)
	}
}

// TestKeptCredit: the last credit is for a priority message, which passes everything that
// waits, WRITEs included, except for the turns that are posted.
func TestKeptCredit(t *testing.T) {
	spec.Covers(t, "OB-2")
	p := newPair(t)
	a, b := p.ends[0], p.ends[1]
	b.hold = true
	for range 20 {
		a.send(wire.Put, 5000, 1, 1, false)
	}
	for a.deliver() {
	}
	if a.x.reserved != 0 || a.x.starved.len() != 12 {
		t.Errorf("%d answers reserved for, %d wait for that", a.x.cfg.depth-a.x.reserved, a.x.starved.len())
	}
	if len(b.types) != 7 || a.x.credits != 1 {
		t.Fatalf("%d arrived, %d credits left", len(b.types), a.x.credits)
	}
	for a.complete() {
	}
	a.send(wire.Put, 10, 1, 1, true)
	a.send(wire.Put, 11, 1, 1, true)
	for a.deliver() {
	}
	if len(b.types) != 8 || b.types[7] != kib.Immediate {
		t.Errorf("the priority message did not leave with the last credit: %v", b.types)
	}
	b.hold = false
	for b.resume() {
	}
	p.settle()
	if got := len(b.got[0].data); got != 10 {
		t.Errorf("first was a message of %d bytes", got)
	}
	if err := p.quiet(); err != nil {
		t.Error(err)
	}
}

// TestTurns: WRITEs are posted in turns, and a priority message waits for no more
// than those that are posted.
func TestTurns(t *testing.T) {
	p := newPair(t)
	a, b := p.ends[0], p.ends[1]
	a.send(wire.Put, lnd.MaxPayload, 1, 1, false)
	a.deliver()
	b.deliver() // delivers the PUT_ACK
	n := 0
	for _, it := range a.wire {
		n += len(it.bytes)
	}
	if n != turnsAhead*turnBytes {
		t.Errorf("%d bytes posted at once, want %d", n, turnsAhead*turnBytes)
	}
	a.send(wire.Put, 8, 1, 1, true)
	p.settle()
	if len(b.got[0].data) != 8 {
		t.Error("the priority message came behind the transfer")
	}
	if err := p.quiet(); err != nil {
		t.Error(err)
	}
}

// TestTimeouts: a message that waits too long, for whatever it waits, ends the connection and
// every message on it.
func TestTimeouts(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup func(p *pair)
		want  Reason
	}{
		{"credits", func(p *pair) {
			p.ends[1].hold = true
			for range 20 {
				p.ends[0].send(wire.Put, 5000, 1, 1, false)
			}
			for p.ends[0].deliver() || p.ends[0].complete() {
			}
		}, SendTimeout},
		{"completion", func(p *pair) { p.ends[0].send(wire.Put, 1, 1, 1, false) }, SendTimeout},
		{"answer", func(p *pair) { p.ends[0].send(wire.Get, 5000, 0, 1, false); p.settle() }, SendTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair(t)
			tt.setup(p)
			a := p.ends[0]
			p.now += 50*time.Second - 1
			a.step(exchangeIn{})
			if a.x.failed != nil {
				t.Fatal("too early")
			}
			p.now++
			a.step(exchangeIn{})
			a.wantClosed(tt.want)
			for _, it := range a.wire { // the device flushes the work requests that were posted
				if it.signaled {
					a.step(exchangeIn{kind: exchangeSent, id: it.id, err: a.x.failed})
				}
			}
			if !a.x.idle() || len(a.sent) != a.begun {
				t.Errorf("%d still under way; %d of %d messages ended", a.x.active, len(a.sent), a.begun)
			}
			for m, err := range a.sent {
				if err == nil {
					t.Errorf("a %v ended without an error", m.Header.Type)
				}
			}
		})
	}
}

// TestSetTimeout: a new time-out, shorter or longer, holds for transfers in progress, too.
func TestSetTimeout(t *testing.T) {
	for _, d := range []time.Duration{20 * time.Second, 80 * time.Second} {
		p := newPair(t)
		a := p.ends[0]
		began := p.now
		a.send(wire.Put, 1, 1, 1, false)
		p.now += 5 * time.Second
		a.send(wire.Put, 1, 1, 1, false)
		p.now += 5 * time.Second
		a.step(exchangeIn{kind: exchangePatience, timeout: d})
		a.send(wire.Put, 1, 1, 1, false)
		if err := a.x.invariants(); err != nil {
			t.Error(err)
		}
		p.now = began + d - 1
		a.step(exchangeIn{})
		if a.x.failed != nil {
			t.Fatalf("%v: too early", d)
		}
		p.now++
		a.step(exchangeIn{})
		a.wantClosed(SendTimeout)
	}
}

// TestNoReply: a GET_REQ that lnet does not answer is answered with an error before the timeout.
func TestNoReply(t *testing.T) {
	p := newPair(t, func(c *exchangeConfig) { c.timeout *= 2 })
	a, b := p.ends[0], p.ends[1]
	b.x.cfg.timeout /= 2
	m := a.send(wire.Get, 5000, 0, 1, false)
	p.settle()
	p.now += 50 * time.Second
	b.step(exchangeIn{})
	p.settle()
	clear(a.memory)
	if e, _ := a.sent[m].(*Error); e == nil || e.Errno != syscall.ETIMEDOUT || b.x.failed != nil {
		t.Errorf("ended with %v", a.sent[m])
	}
	if b.answer(10, 0); len(b.wire) > 0 {
		t.Error("a late answer was sent")
	}
	if err := p.quiet(); err != nil {
		t.Error(err)
	}
}

// TestRandom: whatever is sent in whatever order arrives once, and no credit is lost.
func TestRandom(t *testing.T) {
	effort.OneGoroutine(t)
	rapid.Check(t, func(t *rapid.T) {
		depth := rapid.SampledFrom([]int{1, 2, 3, 4, 8, 32, 255}).Draw(t, "depth")
		p := newPair(t, func(c *exchangeConfig) {
			c.depth, c.concurrent = depth, rapid.IntRange(max(1, depth/2), 2*depth).Draw(t, "concurrent")
			c.highWater = depth * rapid.IntRange(4, 7).Draw(t, "hiw") / 8
			c.gather = rapid.IntRange(1, 4).Draw(t, "gather")
			c.checksum = rapid.Bool().Draw(t, "checksum")
			c.counting = rapid.SampledFrom([]kib.Counting{kib.Unknown, kib.Unsigned, kib.Signed}).Draw(t, "counting")
		})
		sent := [2]int{}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			i := rapid.IntRange(0, 1).Draw(t, "end")
			e := p.ends[i]
			switch rapid.IntRange(0, 7).Draw(t, "op") {
			case 0:
				e.send(wire.Put, rapid.SampledFrom([]int{0, 8, 100, 3976}).Draw(t, "n"), 3, 1, rapid.Bool().Draw(t, "priority"))
				sent[i]++
			case 1:
				e.send(wire.Put, rapid.SampledFrom([]int{3977, 70000, 300000}).Draw(t, "n"), rapid.IntRange(1, 99).Draw(t, "segments"), 1, rapid.Bool().Draw(t, "priority"))
				sent[i]++
			case 2:
				e.send(wire.Get, rapid.SampledFrom([]int{4000, 100000}).Draw(t, "n"), 0, rapid.IntRange(1, 20).Draw(t, "frags"), rapid.Bool().Draw(t, "priority"))
				sent[i]++
			case 3:
				e.hold = rapid.Bool().Draw(t, "hold")
			case 4:
				e.resume()
			case 5:
				e.answer(rapid.SampledFrom([]int{0, 10, 3000, 100000}).Draw(t, "n"), 0)
			case 6:
				e.deliver()
			case 7:
				e.complete()
			}
		}
		for _, e := range p.ends {
			e.hold = false
		}
		for range 1000 {
			p.settle()
			again := false
			for _, e := range p.ends {
				again = e.resume() || e.answer(3000, 0) || again
			}
			if !again {
				break
			}
		}
		if err := p.quiet(); err != nil {
			t.Fatal(err)
		}
		for i, e := range p.ends {
			ended := 0
			for m, err := range e.sent {
				if err != nil {
					t.Fatalf("%v of %d bytes: %v", m.Header.Type, m.Payload.Length, err)
				}
				if m.Header.Type != wire.Reply {
					ended++
				}
			}
			if ended != sent[i] {
				t.Fatalf("%d of %d messages ended", ended, sent[i])
			}
		}
		for _, e := range p.ends {
			for _, r := range e.got {
				n := len(r.data)
				if r.header.Type == wire.Put {
					n = int(r.header.PayloadLength)
				}
				if !slices.Equal(r.data, fill(n)) {
					t.Fatalf("%v of %d bytes: changed", r.header.Type, n)
				}
			}
		}
	})
}
