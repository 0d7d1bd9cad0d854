package o2iblnd

import (
	"errors"
	"net/netip"

	"ulnet/lnet/nid"
)

// Ordinary reports whether r is no cause for alarm: connections end or fail for this reason
// in normal operation, or it follows from a reason that was logged before.
func (r Reason) Ordinary() bool {
	switch r {
	case RefusedRace, RefusedStale, RefusedRestart, RefusedEarly, RejectedRace, RejectedStale, RejectedDepth, RejectedFrags, RejectedMTU,
		RejectedEarly, PeerClosed, PeerRestarted, ShuttingDown, SumNotTrusted, NoReply, Redialled, RedialLimited:
		return true
	}
	return false
}

// rejectAddr counts and logs a reason that concerns an address, because the
// peer is not known yet.
func (ni *NI) rejectAddr(why Reason, from netip.AddrPort, err error) {
	ni.counts.count(why)
	if !ni.messages.Closing() {
		ni.warned.Refused(ni.log, why, from, err)
	}
}

// logFailure logs why a peer failed, once for each peer and reason.
func (ni *NI) logFailure(id nid.NID, cause error) {
	if e, ok := errors.AsType[*Error](cause); ok {
		ni.warned.Failed(ni.log, id, e.Reason, cause)
	}
}
