package simlnd

import "ulnet/lnd/sim"

// CutRail cuts a rail of a host, or mends it. No message passes a cut rail, in either
// direction, and messages on their way when it is cut are lost. No NI is told: code that
// simulates a lost carrier has to tell LNet.
func (f *Fabric) CutRail(id sim.NodeID, rail Rail, cut bool) {
	if cut {
		f.rails[id].Or(1 << rail)
	} else {
		f.rails[id].And(^(uint32(1) << rail))
	}
}

// RailCut reports whether a rail of a host is cut.
func (f *Fabric) RailCut(id sim.NodeID, rail Rail) bool { return f.rails[id].Load()>>rail&1 != 0 }

// severed reports whether nothing gets from one rail to another, because one of the two is
// cut.
func (f *Fabric) severed(a, b peerKey) bool {
	return f.RailCut(a.id, a.rail) || f.RailCut(b.id, b.rail)
}
