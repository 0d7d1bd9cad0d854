package router

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// flow is a connection that brings one message after the other.
type flow struct {
	from, to *Neighbour
	fill     time.Duration // how long a payload takes to arrive
	ticket   *Ticket
	begun    time.Duration // when the present message was granted
	passed   int           // number of messages that have arrived
}

// flows returns n connections of one neighbour. The messages of each connection go to a next hop of its own.
func flows(n int, fill time.Duration) (list []*flow) {
	from := NewNeighbour(8)
	for range n {
		list = append(list, &flow{from: from, to: NewNeighbour(8), fill: fill})
	}
	return list
}

// run lets flows of large messages go on for some time, and fails if any is late.
func (b *book) run(d time.Duration, list []*flow) {
	b.t.Helper()
	for end := b.now + d; b.now < end; {
		for _, f := range list {
			b.step(f)
		}
		if late := b.late(b.now + StallTime/4); late != nil {
			b.t.Fatalf("%d messages are late", len(late))
		}
	}
}

// step ends the present message of a flow if its payload has arrived, and begins another one.
func (b *book) step(f *flow) {
	if t := f.ticket; t != nil && t.granted && t.in != &b.settled && b.now-f.begun >= f.fill {
		b.End(t, b.now)
		f.ticket = nil
		f.passed++
	}
	if f.ticket == nil {
		f.ticket, f.begun = &Ticket{Owner: f}, b.now
		b.Ask(f.ticket, f.from, f.to, maxPayload)
	}
	for t, _ := b.Next(); t != nil; t, _ = b.Next() {
		t.Owner.(*flow).begun = b.now
	}
}

// TestSlowBySum: senders that hold all buffers end each message just before it is late, and begin another one at
// once. They delay another sender only in the first of ten minutes. After that they count as slow: the messages of
// each of them have kept buffers from that sender for FillTime, added up.
func TestSlowBySum(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-19")
	b := newBook(t, Config{})
	var list []*flow
	for range 64 {
		list = append(list, flows(3, FillTime-time.Second)...)
	}
	honest := flows(1, 0)[0]
	b.run(time.Minute, append(list, honest))
	before := honest.passed
	b.run(slowTime-time.Minute, append(list, honest))
	if want := int((slowTime - time.Minute) / (StallTime / 4)); honest.passed-before < want-1 {
		t.Errorf("%d messages of another sender in the first minute, then %d of %d in nine", before, honest.passed-before, want)
	}
}

// TestFairSenders: senders that fill all buffers and bring each message within fairTime are never slow.
func TestFairSenders(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-19")
	b := newBook(t, Config{})
	var list []*flow
	for range 100 {
		list = append(list, flows(3, fairTime-StallTime/2)...)
	}
	b.run(2*time.Minute, list)
	if b.Snapshot().Waiting == 0 {
		t.Error("no message waits")
	}
	for _, f := range list {
		if b.isSlow(f.from) || f.passed < 30 {
			t.Fatalf("%d messages, slow %v", f.passed, b.isSlow(f.from))
		}
	}
}

// TestSlowTurn: many slow senders that have their share wait at the front of the ring, and behind them a large message waits
// for memory. No smaller message of another sender gets that memory first.
func TestSlowTurn(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-19", "RO-6")
	b := newBook(t, Config{Memory: minMemory})
	var held []*Ticket
	for range 4 {
		held = append(held, b.granted(NewNeighbour(1), NewNeighbour(1), maxPayload/2))
	}
	slow := func() *Neighbour {
		n := NewNeighbour(1)
		b.charge(n, 2*FillTime)
		return n
	}
	b.granted(slow(), NewNeighbour(1), maxPayload)
	for range 2 * scanWidth {
		b.waits(slow(), NewNeighbour(1), maxPayload)
	}
	large := b.waits(NewNeighbour(1), NewNeighbour(1), maxPayload)
	for _, ticket := range held[:2] {
		b.End(ticket, b.now)
		b.waits(NewNeighbour(1), NewNeighbour(1), maxPayload/2)
	}
	b.wantNext(large, true)
}

// TestOthersWait: a message whose payload arrives for long is late only if another sender, which is not slow, waits for
// its buffer all that time, or for the share of its next hop.
func TestOthersWait(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-19")
	const buffers = 4
	one := func() *Neighbour { return NewNeighbour(1) }
	fill := func(b *book) {
		for range buffers - 1 {
			b.granted(one(), one(), 1)
		}
	}
	for name, c := range map[string]struct {
		wait func(b *book, sender *Neighbour)
		late int // number of messages of other senders that are late
	}{
		"for another next hop": {func(b *book, _ *Neighbour) {
			to := one()
			b.granted(one(), to, 1)
			b.granted(one(), to, 1)
			b.waits(one(), to, 1)
		}, 2},
		"of the same sender": {func(b *book, sender *Neighbour) {
			fill(b)
			b.waits(sender, one(), 1)
		}, buffers - 1},
		"of slow senders": {func(b *book, _ *Neighbour) {
			fill(b)
			for range 2 {
				slow := one()
				b.charge(slow, 2*FillTime)
				b.waits(slow, one(), 1)
			}
		}, 0},
		"twice": {func(b *book, _ *Neighbour) {
			fill(b)
			for range 2 {
				waiting := b.waits(one(), one(), 1)
				b.run(StallTime, nil)
				b.Cancel(waiting)
				b.run(FillTime, nil)
			}
		}, 0},
		"for credits": {func(b *book, _ *Neighbour) {
			fill(b)
			other := one()
			b.granted(other, one(), 0)
			b.waits(other, one(), 1)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(t, Config{Small: buffers})
			sender := NewNeighbour(2)
			b.granted(sender, one(), 1)
			c.wait(b, sender)
			late := b.late(b.now + FillTime + StallTime)
			for _, ticket := range late {
				if ticket.from == sender {
					t.Error("its message is late")
				}
			}
			if len(late) != c.late {
				t.Errorf("%d messages are late, want %d", len(late), c.late)
			}
		})
	}
}

// TestSlowSuspended: a router was suspended for a minute while a payload arrived and another message waited. The time
// of the suspension does not count: no message is late after it.
func TestSlowSuspended(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-19")
	b := newBook(t, Config{Small: 1})
	b.granted(NewNeighbour(1), NewNeighbour(1), 1)
	b.waits(NewNeighbour(1), NewNeighbour(1), 1)
	b.Check(0)
	b.Check(3 * FillTime)
	if b.Late() != nil {
		t.Error("a message is late")
	}
}
