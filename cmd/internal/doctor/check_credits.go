package doctor

import (
	"fmt"
)

// credits looks for messages that wait, or waited, for credits.
func (e *exam) credits() {
	if !e.needsNode() {
		return
	}
	for _, ni := range e.nis() {
		switch {
		case ni.Credits < 0:
			e.fail(ni.NID, "raise credits, or see the peers below: one that takes nothing holds them", "%d messages wait for a credit of the interface now", -ni.Credits)
		case ni.MinCredits < 0:
			e.warn(ni.NID, fmt.Sprintf("raise credits above %d if this is usual", ni.Tunables.Credits), "up to %d messages waited for a credit of the interface", -ni.MinCredits)
		default:
			e.ok(ni.NID, "%d of %d free, never fewer than %d", ni.Credits, ni.Tunables.Credits, ni.MinCredits)
		}
		if n := ni.LND.Reasons["credit_timeout"]; n > 0 {
			e.fail(ni.NID, "see why the peers do not give credits back: they are overloaded, or stopped", "%d messages waited too long for credits of RDMA", n)
		}
		if v := ni.LND.Verbs; v != nil && v.Receives.Empty > 0 {
			e.warn(ni.NID, "raise o2ib.rx_buffers", "%d packets found no receive buffer and came again", v.Receives.Empty)
		}
	}
	e.peerCredits()
}

func (e *exam) peerCredits() {
	var now, before []string
	for _, p := range e.peers {
		if p.Queued > 0 && p.Credits <= 0 {
			now = append(now, fmt.Sprintf("%v (%d messages)", p.NID, p.Queued))
		} else if p.MinCredits < 0 {
			before = append(before, fmt.Sprintf("%v (up to %d messages)", p.NID, -p.MinCredits))
		}
	}
	if len(now) > 0 {
		e.fail("peers", "is the peer overloaded, or stopped? 'lnetctl peer show -v 4' has its queue", "messages wait for credits of %s", few(now))
	}
	if len(before) > 0 {
		e.warn("peers", "raise peer_credits here and there if this is usual", "messages waited for credits of %s", few(before))
	}
}
