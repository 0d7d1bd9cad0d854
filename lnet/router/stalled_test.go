package router

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// stall lets StallTime pass, in which no message leaves.
func (b *book) stall() {
	b.t.Helper()
	if late := b.late(b.now + StallTime); late != nil {
		b.t.Fatalf("%d messages are late", len(late))
	}
}

// TestTwoStalledNextHops: clients of a server take nothing, one after the other. Each time, a message of the server to
// another node gets a credit a second later, although the messages to the first client have all extra credits. When the
// clients take these messages, every credit comes back once.
func TestTwoStalledNextHops(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-13")
	const credits, stuck = 2, 5
	b := newBook(t, Config{})
	server, other := NewNeighbour(credits), NewNeighbour(1)
	var held []*Ticket
	for range stuck {
		to := NewNeighbour(1)
		for range credits {
			held = append(held, b.departed(server, to, maxPayload))
		}
		waiting := b.waits(server, other, 1)
		b.stall()
		b.wantNext(waiting, true)
		b.End(waiting, b.now)
		if v := b.Ask(new(Ticket), server, to, 1); v != Refused {
			t.Errorf("a further message to a next hop that has stalled: outcome %d", v)
		}
	}
	back := held[0].to
	b.End(held[0], b.now)
	for range credits {
		held = append(held, b.departed(server, back, 1))
	}
	b.Cancel(b.waits(server, other, 1)) // a next hop that takes messages again has no more credits than others
	for i, ticket := range held[1:] {
		b.End(ticket, b.now)
		if _, left, _ := server.Credits(); left != max(0, i-len(held)+credits+2) {
			t.Errorf("after %d messages %d credits are left", i+2, left)
		}
	}
	if !server.Idle() {
		t.Errorf("%+v", server)
	}
}

// TestDepartToStalled: the payload of a message arrives while its next hop stalls. The message gives its credit back when
// it has departed.
func TestDepartToStalled(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-13")
	b := newBook(t, Config{})
	server, stuck, other := NewNeighbour(1), NewNeighbour(1), NewNeighbour(1)
	first := b.departed(NewNeighbour(1), stuck, 1)
	arriving := b.granted(server, stuck, maxPayload)
	b.stall()
	waiting := b.waits(server, other, 1)
	b.Depart(arriving, stuck, b.now)
	b.late(b.now + StallTime/4)
	b.wantNext(waiting, true)
	for _, ticket := range []*Ticket{first, arriving, waiting} {
		b.End(ticket, b.now)
	}
	if !server.Idle() {
		t.Errorf("%+v", server)
	}
}

// TestTricklingNextHop: a client takes one message now and then, and stalls in between. Messages of its server to other
// nodes get a credit each time after a second. Those to the client hold half of the buffers, at most.
func TestTricklingNextHop(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-12", "RO-13")
	const buffers = 10
	b := newBook(t, Config{Small: buffers})
	server, client, other := NewNeighbour(2), NewNeighbour(1), NewNeighbour(1)
	var out []*Ticket
	most := 0
	for range 3 * buffers {
		ticket := new(Ticket)
		for ; b.Ask(ticket, server, client, 1) == Granted; ticket = new(Ticket) {
			b.Depart(ticket, client, b.now)
			out = append(out, ticket)
		}
		most = max(most, client.held[smallBuffer])
		waiting := b.waits(server, other, 1)
		b.stall()
		b.wantNext(ticket, false)
		b.wantNext(waiting, true)
		b.End(waiting, b.now)
		b.End(out[0], b.now)
		out = out[1:]
	}
	if most != buffers/2 {
		t.Errorf("the client has held %d buffers, want %d", most, buffers/2)
	}
}
