package o2iblnd

import (
	"errors"
	"net/netip"
	"sync"

	"ulnet/lnet/nid"
)

// maxWarnings bounds the memory of what has been warned of. When it is full
// it is emptied, so a peer may be warned of again.
const maxWarnings = 4096

// warnings remembers what has been logged, so that a peer or an address that
// misbehaves all day is logged once for each reason.
type warnings struct {
	mu   sync.Mutex
	seen map[warning]struct{} // guarded by mu
}

type warning struct {
	reason Reason
	peer   nid.NID
	addr   netip.Addr
}

// first reports whether w has not been seen and notes it.
func (ws *warnings) first(w warning) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if _, old := ws.seen[w]; old {
		return false
	}
	if ws.seen == nil || len(ws.seen) >= maxWarnings {
		ws.seen = make(map[warning]struct{})
	}
	ws.seen[w] = struct{}{}
	return true
}

// ordinary reasons are no cause for alarm: they belong to the life of
// connections, or follow from what was logged before.
func (r Reason) ordinary() bool {
	switch r {
	case RefusedRace, RefusedStale, RefusedRestart, RefusedEarly, RejectedRace, RejectedStale, RejectedDepth, RejectedFrags,
		RejectedEarly, PeerClosed, PeerRestarted, ShuttingDown, SumNotTrusted, NoReply:
		return true
	}
	return false
}

// rejectAddr counts and logs a reason that concerns an address, because the
// peer is not known yet.
func (ni *NI) rejectAddr(why Reason, from netip.AddrPort, err error) {
	ni.counts.count(why)
	if !why.ordinary() && !ni.closing.Load() && ni.warned.first(warning{reason: why, addr: from.Addr()}) {
		ni.log.Warn("connection refused", "reason", why.String(), "from", from.String(), "err", err)
	}
}

// logFailure logs why a peer failed, at its first time.
func (ni *NI) logFailure(id nid.NID, cause error) {
	e, ok := errors.AsType[*Error](cause)
	switch {
	case !ok:
	case e.Reason.ordinary():
		ni.log.Debug("peer", "peer", id.String(), "reason", e.Reason.String())
	case ni.warned.first(warning{reason: e.Reason, peer: id}):
		ni.log.Warn("peer failed", "peer", id.String(), "reason", e.Reason.String(), "err", cause)
	}
}
