package router

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// book is a Ledger with helpers for the tests.
type book struct {
	t *testing.T
	*Ledger
	now time.Duration
}

func newBook(t *testing.T, cfg Config) *book { return &book{t: t, Ledger: New(cfg)} }

// granted asks for a ticket that must be granted.
func (b *book) granted(from, to *Neighbour, payload int) *Ticket {
	b.t.Helper()
	t := new(Ticket)
	if v := b.Ask(t, from, to, payload); v != Granted {
		b.t.Fatalf("outcome %d, want granted", v)
	}
	return t
}

// departed asks for a ticket and begins to send its message.
func (b *book) departed(from, to *Neighbour, payload int) *Ticket {
	b.t.Helper()
	t := b.granted(from, to, payload)
	b.Depart(t, to, b.now)
	return t
}

func (b *book) waits(from, to *Neighbour, payload int) *Ticket {
	b.t.Helper()
	t := new(Ticket)
	if v := b.Ask(t, from, to, payload); v != Waits {
		b.t.Fatalf("outcome %d, want waits", v)
	}
	return t
}

// wantNext checks the ticket that Next returns.
func (b *book) wantNext(want *Ticket, granted bool) {
	b.t.Helper()
	if t, g := b.Next(); t != want || g != granted {
		b.t.Fatalf("next is %p, granted %v; want %p, %v", t, g, want, granted)
	}
}

// TestTurns: neighbours that wait for a buffer take turns, however many messages each
// has waiting.
func TestTurns(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-6")
	b := newBook(t, Config{Small: 1})
	greedy, modest, to := NewNeighbour(8), NewNeighbour(8), NewNeighbour(8)
	held := b.departed(greedy, to, 1)
	first, second := b.waits(greedy, to, 1), b.waits(greedy, to, 1)
	other := b.waits(modest, to, 1)
	for _, want := range []*Ticket{first, other, second} {
		b.End(held, b.now)
		b.wantNext(want, true)
		b.Depart(want, to, b.now)
		held = want
	}
}

// TestSmallMemory: a router full of large messages still has buffers for small ones, and a
// large message that waits for memory is not overtaken by smaller ones.
func TestSmallMemory(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-6", "RO-11")
	b := newBook(t, Config{Memory: minMemory})
	var full []*Ticket
	for b.rooms[largeBuffer].taken < b.rooms[largeBuffer].bytes {
		full = append(full, b.departed(NewNeighbour(1), NewNeighbour(1), maxPayload/2))
	}
	b.granted(NewNeighbour(1), NewNeighbour(1), Page)
	large := b.waits(NewNeighbour(1), NewNeighbour(1), maxPayload)
	b.End(full[0], 0)
	b.waits(NewNeighbour(1), NewNeighbour(1), maxPayload/4)
	b.End(full[1], 0)
	b.wantNext(large, true)
}

// TestShare: a next hop that accepts no messages holds at most as many buffers as it leaves for
// others, half of them.
func TestShare(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-12")
	b := newBook(t, Config{Small: 10})
	stuck, other := NewNeighbour(1), NewNeighbour(1)
	for range 5 {
		b.departed(NewNeighbour(1), stuck, 1)
	}
	waiting := b.waits(NewNeighbour(1), stuck, 1)
	b.departed(NewNeighbour(1), other, 1)
	held := b.departed(NewNeighbour(1), other, 1)
	b.End(held, 0)
	if got, _ := b.Next(); got == waiting {
		t.Error("the stuck next hop has got more than its share")
	}
	b.departed(NewNeighbour(1), other, 1)
}

// TestStalledNextHop: a server goes on sending to other clients while one of its clients takes no
// messages. Messages to the stalled client no longer use credits of the server, but extra credits, of
// which there are as many. If these are used up, further messages to that client are refused. When a
// message leaves for it, it counts as stalled no more.
func TestStalledNextHop(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-13")
	b := newBook(t, Config{})
	server, stuck, other := NewNeighbour(2), NewNeighbour(1), NewNeighbour(1)
	first := b.departed(server, stuck, 1)
	second := b.departed(server, stuck, 1)
	waiting := b.waits(server, other, 1)
	for at := StallTime / 4; at < StallTime; at += StallTime / 4 {
		b.Check(at)
		if got, _ := b.Next(); got != nil {
			t.Fatal("the next hop has stalled too early")
		}
	}
	b.Check(StallTime)
	b.wantNext(waiting, true)
	b.Depart(waiting, other, b.now)
	b.granted(server, other, 1)
	if v := b.Ask(new(Ticket), server, stuck, 1); v != Refused {
		t.Errorf("a third message to the next hop that has stalled: outcome %d", v)
	}
	if s := b.Snapshot(); s.Stalls != 1 {
		t.Errorf("%d stalls counted", s.Stalls)
	}
	b.End(first, StallTime+1)
	b.waits(server, stuck, 1) // the client is not stalled any more, so the message waits instead of being refused
	b.End(second, StallTime+2)
}

// TestStalledSuspended: the router's process stands still for longer than StallTime, before the first Check or
// between two. Afterwards, a next hop with messages does not count as stalled, because the process could not
// notice that messages left. It counts as stalled if nothing leaves in the time that follows.
func TestStalledSuspended(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-13")
	const pause = 10 * StallTime
	for _, before := range []int{0, 1, 2} {
		b := newBook(t, Config{})
		from, to := NewNeighbour(1), NewNeighbour(1)
		held := b.departed(from, to, 1)
		waiting := b.waits(from, to, 1)
		at := time.Duration(before) * StallTime / 4
		for n := range before {
			b.Check(time.Duration(n+1) * StallTime / 4)
		}
		b.Check(at + pause)
		if got, _ := b.Next(); got != nil {
			t.Fatalf("after %d checks and a pause: refused", before)
		}
		b.End(held, at+pause)
		b.wantNext(waiting, true)
		b.Depart(waiting, to, at+pause)
		waiting = b.waits(from, to, 1)
		b.Check(at + 2*pause)
		b.wantNext(nil, false)
		for n := range time.Duration(3) {
			b.Check(at + 2*pause + (n+1)*StallTime/4)
		}
		b.wantNext(waiting, false) // the message under way has the only extra credit
	}
}

// TestCancel: if a message's connection ends while the message waits, the next one takes its
// position.
func TestCancel(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-8")
	b := newBook(t, Config{})
	from, to := NewNeighbour(1), NewNeighbour(1)
	held := b.departed(from, to, 1)
	first, second := b.waits(from, to, 1), b.waits(from, to, 1)
	if !b.Cancel(first) {
		t.Fatal("not cancelled")
	}
	b.End(held, 0)
	if b.Cancel(second) {
		t.Error("a ticket is cancelled that Next is about to return")
	}
	b.wantNext(second, true)
}

// TestRoomAfterWait: a message waits for more memory than is free, and the free memory is reserved for it. When
// this message is given up, because its connection ends or its NI is removed, the messages behind it get that
// memory.
func TestRoomAfterWait(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-8")
	for name, giveUp := range map[string]func(*book, *Ticket){
		"Cancel":    func(b *book, t *Ticket) { b.Cancel(t) },
		"RefuseAll": func(b *book, t *Ticket) { b.RefuseAll([]*Neighbour{t.from}); b.wantNext(t, false) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(t, Config{Large: 8, Memory: minMemory})
			for _, payload := range []int{maxPayload, maxPayload, 300_000} {
				b.granted(NewNeighbour(1), NewNeighbour(1), payload)
			}
			first := b.waits(NewNeighbour(1), NewNeighbour(1), maxPayload)
			second := b.waits(NewNeighbour(1), NewNeighbour(1), 2*Page)
			giveUp(b, first)
			b.wantNext(second, true)
		})
	}
}

// TestShareAfterCheck: a message waits because its next hop already has its share of the buffers. Then the other
// message to that hop leaves for another next hop instead. Check gives the waiting message a buffer.
func TestShareAfterCheck(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-12")
	b := newBook(t, Config{Small: 2})
	to := NewNeighbour(1)
	held := b.granted(NewNeighbour(1), to, 1)
	waiting := b.waits(NewNeighbour(1), to, 1)
	b.Depart(held, NewNeighbour(1), 0)
	b.Check(StallTime / 4)
	b.wantNext(waiting, true)
}

// TestLowest: the lowest numbers of free buffers and of router credits are negative if messages waited for them:
// minus the largest number of these messages.
func TestLowest(t *testing.T) {
	t.Parallel()
	b := newBook(t, Config{Small: 1})
	to := NewNeighbour(1)
	b.departed(NewNeighbour(1), to, 1)
	from := NewNeighbour(1)
	b.waits(from, to, 1)
	b.waits(from, to, 1)
	if s := b.Snapshot(); s.Small.Credits != -1 || s.Small.MinCredits != -1 || s.Waiting != 2 {
		t.Errorf("%+v", s)
	}
	if limit, left, lowest := from.Credits(); limit != 1 || left != -1 || lowest != -1 {
		t.Errorf("credits %d of %d, lowest %d", left, limit, lowest)
	}
}

// TestThousandSenders: a thousand neighbours always have messages waiting; none of them is
// served noticeably more often than another.
func TestThousandSenders(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-6")
	const senders, rounds = 1000, 20
	b := newBook(t, Config{Small: 64})
	to := []*Neighbour{NewNeighbour(8)}
	passed := make(map[*Neighbour]int)
	var out []*Ticket
	ask := func(from *Neighbour, n int) {
		ticket := new(Ticket)
		if b.Ask(ticket, from, to[n%len(to)], 1) == Granted {
			b.Depart(ticket, ticket.to, b.now)
			out = append(out, ticket)
		}
	}
	for i := range senders {
		from := NewNeighbour(8)
		for range 10 {
			ask(from, i)
		}
	}
	for i := 0; i < senders*rounds; i++ {
		ticket := out[0]
		out = out[1:]
		from := ticket.from
		passed[from]++
		b.End(ticket, b.now)
		for next, _ := b.Next(); next != nil; next, _ = b.Next() {
			b.Depart(next, next.to, b.now)
			out = append(out, next)
		}
		ask(from, i)
	}
	least, most := rounds, rounds
	for _, n := range passed {
		least, most = min(least, n), max(most, n)
	}
	if len(passed) != senders || 2*most > 3*least {
		t.Errorf("%d of %d neighbours had %d to %d messages passed", len(passed), senders, least, most)
	}
}

// TestBehindACrowd: messages to one next hop wait while buffers are free, because that hop has its share. A message to another
// next hop gets a buffer after a few Ends, however many senders come before its own.
func TestBehindACrowd(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-6")
	b := newBook(t, Config{Small: 10})
	slow, free := NewNeighbour(8), NewNeighbour(8)
	ask := func(to *Neighbour) (*Ticket, Outcome) {
		ticket := new(Ticket)
		return ticket, b.Ask(ticket, NewNeighbour(8), to, 1)
	}
	var held []*Ticket
	for i := range 10 {
		to := NewNeighbour(8)
		if i < 4 {
			to = slow
		}
		ticket, outcome := ask(to)
		if outcome != Granted {
			t.Fatalf("ticket %d: %v", i, outcome)
		}
		held = append(held, ticket)
	}
	for range 3 * scanWidth {
		ask(slow)
	}
	last, _ := ask(free)
	for _, ticket := range held[6:] {
		b.End(ticket, b.now)
	}
	if next, granted := b.Next(); next != last || !granted {
		t.Errorf("after four Ends: %v, granted %v", next, granted)
	}
}
