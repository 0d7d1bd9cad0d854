package lnet

import (
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/router"
)

// TestAbandonAnother: a connection ends while the router refuses its message. The transit to which
// the Delivery refers may already belong to another message, which must keep waiting.
func TestAbandonAnother(t *testing.T) {
	spec.Covers(t, "RO-8")
	var f forwarder
	f.open()
	from, to := router.NewNeighbour(1), router.NewNeighbour(1)
	var first router.Ticket
	f.ledger.Ask(&first, from, to, 10)
	used := f.take()
	if f.ledger.Ask(&used.ticket, from, to, 10) != router.Waits {
		t.Fatal("there is a credit more")
	}
	refused, waiting := &lnd.Delivery{Owner: used}, &lnd.Delivery{Owner: used}
	used.d = waiting
	if f.abandon(refused) {
		t.Error("a message was given up in place of another one")
	}
	if got := f.ledger.Tickets(); got != 2 {
		t.Errorf("%d tickets, want 2", got)
	}
	if !f.abandon(waiting) {
		t.Error("a message that waits is not given up")
	}
}
