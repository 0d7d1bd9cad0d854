package lnet

import (
	"testing"
	"testing/synctest"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/router"
)

// TestManyDebtors: a router keeps the accounts of maxDebtors slow senders that it forgets as peers, and of no more. When
// these have paid off their debt it keeps none.
func TestManyDebtors(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-19")
	synctest.Test(t, func(t *testing.T) {
		const senders = maxDebtors + 10
		clock, tcp := machine.RealClock(), nid.MustParse("10.0.0.1@tcp").Net()
		n := &Node{cfg: Config{Clock: clock}}
		f, ni := &n.forward, &NI{node: n}
		f.config = router.Config{Small: senders, Memory: 4 * senders * router.Page}
		f.open()
		to := router.NewNeighbour(1)
		var slow []*router.Neighbour
		for range senders {
			from := router.NewNeighbour(1)
			slow = append(slow, from)
			f.ledger.Ask(new(router.Ticket), from, router.NewNeighbour(1), 1)
		}
		if f.ledger.Ask(new(router.Ticket), router.NewNeighbour(1), to, 1) != router.Waits {
			t.Fatal("there is a buffer left")
		}
		now := clock.Now()
		for range router.FillTime/router.StallTime + 1 {
			now += router.StallTime
			f.ledger.Check(now)
		}
		for f.ledger.Late() != nil {
		}
		for i, from := range slow {
			f.keepDebt(&peerNI{nid: nid.FromNumber(tcp, uint32(i)), ni: ni, neighbour: from})
		}
		if len(f.debtors) != maxDebtors {
			t.Errorf("%d accounts are kept of %d", len(f.debtors), senders)
		}
		again := &peerNI{nid: nid.FromNumber(tcp, 0), ni: ni}
		if again.routerAccount() != slow[0] || len(f.debtors) != maxDebtors-1 {
			t.Error("a peer that comes again has another account")
		}
		f.ageDebts(now + 60*router.FillTime)
		if f.debtors != nil {
			t.Errorf("%d accounts are kept without a debt", len(f.debtors))
		}
	})
}
