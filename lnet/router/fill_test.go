package router

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// late lets time pass, and returns the messages that Late returns meanwhile.
func (b *book) late(now time.Duration) (late []*Ticket) {
	for {
		b.now = min(b.now+StallTime/4, now)
		b.Check(b.now)
		for t := b.Late(); t != nil; t = b.Late() {
			late = append(late, t)
		}
		if b.now == now {
			return late
		}
	}
}

// TestSlowSenders: senders that begin messages and do not end them keep others from buffers for FillTime at most: Late
// returns a message of each. After that they have a quarter of the buffers together, until slowTime is over.
func TestSlowSenders(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-19")
	const senders, credits = 6, 2
	b := newBook(t, Config{Small: senders * credits})
	var slow []*Neighbour
	var held []*Ticket
	for range senders {
		n := NewNeighbour(credits)
		slow = append(slow, n)
		for range credits {
			held = append(held, b.granted(n, NewNeighbour(1), 1))
		}
	}
	b.Check(1)
	if late := b.late(10 * FillTime); late != nil {
		t.Fatalf("%d messages are late although no other waits", len(late))
	}
	honest, to := NewNeighbour(8), NewNeighbour(8)
	waiting := b.waits(honest, to, 1)
	begin := b.now
	if !b.Check(begin) || b.late(begin+FillTime-1) != nil {
		t.Error("messages are late too early")
	}
	if late := b.late(begin + FillTime); len(late) != senders || b.late(begin+FillTime) != nil {
		t.Fatalf("messages of %d senders are late, of %d", len(late), senders)
	}
	b.End(held[0], b.now)
	b.wantNext(waiting, true)
	b.Depart(waiting, to, b.now)
	for _, ticket := range held[1:] {
		b.End(ticket, b.now)
	}
	b.wantSlow(slow, senders*credits/4)
	for range 4 {
		b.departed(honest, to, 1)
	}
	if late := b.late(b.now + FillTime - 1); late != nil {
		t.Errorf("%d messages are late again", len(late))
	}
}

// wantSlow lets each slow sender ask for two buffers, and checks how many they get together.
func (b *book) wantSlow(slow []*Neighbour, want int) {
	b.t.Helper()
	got := 0
	for _, n := range slow {
		for range 2 {
			if b.Ask(new(Ticket), n, NewNeighbour(1), 1) == Granted {
				got++
			}
		}
	}
	if got != want {
		b.t.Errorf("slow senders have got %d buffers, want %d", got, want)
	}
}

// TestSlowNoMore: a slow sender is like any other after slowTime. A large message of a slow sender that waits keeps no
// memory from others.
func TestSlowNoMore(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-19")
	b := newBook(t, Config{Memory: minMemory})
	slow, to := NewNeighbour(8), NewNeighbour(8)
	for range 3 {
		b.granted(slow, NewNeighbour(1), maxPayload)
	}
	waiting := b.waits(NewNeighbour(1), to, maxPayload)
	b.Check(1)
	late := b.late(1 + FillTime)
	if len(late) != 1 || late[0].from != slow {
		t.Fatalf("%d messages are late", len(late))
	}
	b.End(late[0], b.now)
	b.wantNext(waiting, true)
	b.waits(slow, to, maxPayload)
	b.End(waiting, b.now)
	if next, _ := b.Next(); next != nil {
		t.Error("a slow sender has got more than its share")
	}
	other := b.granted(NewNeighbour(1), to, maxPayload/2)
	b.End(b.granted(NewNeighbour(1), NewNeighbour(1), maxPayload/4), b.now) // the message of the slow sender needs more memory than is left; no memory is reserved for it, so this message gets a buffer
	b.End(other, b.now+slowTime)
	if next, granted := b.Next(); next == nil || !granted || next.from != slow {
		t.Error("a sender that was slow once still gets no buffer")
	}
}
