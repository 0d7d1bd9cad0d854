package lnet

import (
	"maps"
	"time"

	"ulnet/lnet/router"
)

// maxDebtors bounds the accounts of forgotten peers that a router keeps; local policy. They take less than 4 MiB.
const maxDebtors = 8192

// keepDebt keeps the account of a peer that is being forgotten, if its messages have kept buffers from others lately: the
// peer would else be free of that debt when it comes again. The caller holds the lock of the table of peers.
func (f *forwarder) keepDebt(p *peerNI) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := p.ni.node.cfg.Clock.Now()
	if p.neighbour == nil || p.ni.removed || !p.neighbour.InDebt(now) {
		return
	}
	if len(f.debtors) >= maxDebtors {
		f.dropDebts(now)
	}
	if len(f.debtors) >= maxDebtors {
		return
	}
	if f.debtors == nil {
		f.debtors = make(map[peerKey]*router.Neighbour)
	}
	f.debtors[peerKey{p.nid, p.ni}] = p.neighbour
}

// account returns an account for a peer that has none: the one that was kept for it, or a new one. The caller holds f.mu.
func (f *forwarder) account(p *peerNI) *router.Neighbour {
	key := peerKey{p.nid, p.ni}
	n := f.debtors[key]
	if n == nil {
		return router.NewNeighbour(p.ni.routerCredits())
	}
	delete(f.debtors, key)
	return n
}

// ageDebts forgets the accounts of forgotten peers that have paid off their debt.
func (f *forwarder) ageDebts(now time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropDebts(now)
}

// dropDebts does what ageDebts does. The caller holds f.mu.
func (f *forwarder) dropDebts(now time.Duration) {
	maps.DeleteFunc(f.debtors, func(_ peerKey, n *router.Neighbour) bool { return !n.InDebt(now) })
	if len(f.debtors) == 0 {
		f.debtors = nil // a map keeps its size for ever
	}
}
