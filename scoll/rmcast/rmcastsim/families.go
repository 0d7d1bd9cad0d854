package rmcastsim

import (
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast"
)

// unite gives the members of a list, and all those of their families, the same number.
func (l *ledger) unite(members []rmcast.Member) {
	family := len(l.versions) // a new one, unless members have one
	for i, m := range members {
		old, listed := l.families[m.ID]
		switch {
		case listed && i == 0:
			family = old
		case listed && old != family:
			for id, f := range l.families { // any order: the entries are independent
				if f == old {
					l.families[id] = family
				}
			}
		}
		l.families[m.ID] = family
	}
}

// outvoted reports whether the list of a member may have given way to an independent one, which a node that is up has: "If two
// managers have independent lists [...] the one that hears more members stays. The members of the other one join it as new
// members" (docs/multicast.md).
func (l *ledger) outvoted(id rmcast.ID) bool {
	family, listed := l.families[id]
	for node := range sim.NodeID(l.net.cfg.Nodes) {
		if other, ok := l.families[l.net.id(node)]; listed && ok && other != family && l.net.Up(node) {
			return true
		}
	}
	return false
}
