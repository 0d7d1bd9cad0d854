package o2iblnd

import (
	"fmt"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnet/wire"
)

// TestUrgentBesideHeld (OB-2): lnet holds PUT_REQs of one side, or of both, so that nearly all credits are in use.
// Priority messages leave nevertheless, one after the other.
func TestUrgentBesideHeld(t *testing.T) {
	spec.Covers(t, "OB-2")
	for _, sides := range []int{1, 2} {
		t.Run(fmt.Sprint(sides), func(t *testing.T) {
			p := newPair(t)
			for _, e := range p.ends[:sides] {
				e.other.hold = true
				for range 20 {
					e.send(wire.Put, 5000, 1, 1, false)
				}
			}
			p.settle()
			for i := range 20 {
				for _, e := range p.ends[:sides] {
					e.send(wire.Put, i, 1, 1, true)
				}
				p.settle()
				for _, e := range p.ends[:sides] {
					if n := len(e.other.got); n != i+1 {
						t.Fatalf("%d priority messages have arrived at %v, want %d", n, e.other.x.cfg.local, i+1)
					}
				}
			}
			for _, e := range p.ends {
				e.hold = false
				for e.resume() {
				}
			}
			p.settle()
			if err := p.quiet(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestHeldPutReqs (OB-2): each PUT_REQ that lnet holds keeps its own credit, and prevents no other credit from being
// returned. So with a queue depth of 8, other messages can be sent beside up to six of them.
func TestHeldPutReqs(t *testing.T) {
	spec.Covers(t, "OB-2")
	for held := 1; held < 7; held++ {
		p := newPair(t)
		a, b := p.ends[0], p.ends[1]
		b.hold = true
		for range held {
			a.send(wire.Put, kib.MaxImmediate+1, 1, 1, false)
		}
		p.settle()
		for i := range 20 {
			a.send(wire.Put, i, 1, 1, false)
		}
		p.settle()
		if len(b.got) != 20 {
			t.Errorf("%d PUT_REQs held: %d of 20 messages have arrived", held, len(b.got))
		}
	}
}

// TestHeldGetReqs (OB-2): each GET_REQ that lnet has not answered yet keeps its own credit, and prevents no other credit
// from being returned. So other messages of the peer leave, and so do later GET_REQs, which lnet answers first. After the
// answer to the oldest GET_REQ, returning credits waits for the answers to the others only for getPause.
func TestHeldGetReqs(t *testing.T) {
	spec.Covers(t, "OB-2")
	for held := 1; held < 7; held++ {
		p := newPair(t)
		a, b := p.ends[0], p.ends[1]
		for range held {
			a.send(wire.Get, 5000, 1, 1, false)
		}
		p.settle()
		for range 20 {
			a.send(wire.Put, 100, 1, 1, false)
		}
		p.settle()
		if len(b.got) != 20 {
			t.Errorf("%d GET_REQs held: %d of 20 PUTs have arrived", held, len(b.got))
		}
		for i := range 20 {
			a.send(wire.Get, 6000, 1, 1, false)
			p.settle()
			if len(b.gets) != held+1 {
				t.Fatalf("%d GET_REQs held: GET_REQ %d behind them has not arrived", held, i)
			}
			b.gets = append(b.gets[held:], b.gets[:held]...)
			b.answer(6000, 0)
			p.settle()
		}
		for i := range 20 {
			a.send(wire.Get, 5000, 1, 1, false)
			p.settle()
			if len(b.gets) != held+1 {
				t.Fatalf("%d GET_REQs held: GET_REQ %d has not arrived in time", held, i)
			}
			b.answer(5000, 0)
			p.settle()
			if p.now += getPause; b.x.wake() <= p.now {
				b.step(exchangeIn{kind: exchangeTimer})
			}
			p.settle()
		}
		b.answer(5000, 0)
		p.settle()
		before := len(b.got)
		for range 20 {
			a.send(wire.Put, 100, 1, 1, true)
		}
		p.settle()
		if n := len(b.got) - before; n != 20 {
			t.Errorf("%d GET_REQs held: %d of 20 priority messages have arrived", held, n)
		}
	}
}

// TestUrgentPutBesideHeld (OB-2): a priority message that is sent as a PUT_REQ, and so needs a buffer for an answer, leaves
// as well, although normal PUT_REQs have taken all buffers for answers that they may have.
func TestUrgentPutBesideHeld(t *testing.T) {
	spec.Covers(t, "OB-2")
	p := newPair(t)
	a, b := p.ends[0], p.ends[1]
	b.hold = true
	for range 20 {
		a.send(wire.Put, 5000, 1, 1, false)
	}
	p.settle()
	normal := len(b.held)
	for i := range 20 {
		a.send(wire.Put, 6000+i, 1, 1, true)
		p.settle()
		if len(b.held) != normal+1 {
			t.Fatalf("priority message %d has not arrived", i)
		}
		b.held = append(b.held[normal:], b.held[:normal]...) // lnet does not hold the priority message
		b.resume()
		p.settle()
	}
	b.hold = false
	for b.resume() {
	}
	p.settle()
	if err := p.quiet(); err != nil {
		t.Error(err)
	}
}
