package softroce

import "time"

// extension says by how much absences of this device move the end of a time-out: answers of the
// peer may lie unread. It moves for as long as one absence goes on. The absences that are over move
// it once only: between them the device has read, and if all of them counted, a device that is often
// absent would hardly ever notice that a peer is gone.
type extension struct {
	taken  time.Duration // value of away.total up to which the time-out has moved
	during int64         // value of away.present when the time-out moved last
	done   bool          // whether the time-out moves no more
}

// restart begins the time-out anew. Absences that no time-out has taken into account remain.
func (e *extension) restart() { e.during, e.done = 0, false }

// by returns by how much a time-out moves that is due now.
func (e *extension) by(a away) time.Duration {
	d := a.total - e.taken
	if e.done || d <= 0 || a.present == 0 && d < longAbsence { // an absence that goes on is long already
		return 0
	}
	e.done = a.present == 0 || e.during != 0 && e.during != a.present
	e.taken, e.during = a.total, a.present
	return d
}

// silent begins the measurement of a silence of the peer.
func (r *requester) silent(now time.Duration) {
	r.silentSince = now
	r.absences.restart()
}

// timedOut reports whether the peer has been silent for an ACK timeout. Absences of this device move the
// beginning of its silence, and its probes begin anew.
func (r *requester) timedOut(now time.Duration, a away) bool {
	if r.ackTimeout == 0 || now < r.silentSince+r.ackTimeout {
		return false
	}
	if d := r.absences.by(a); d > 0 {
		r.silentSince, r.probes = min(r.silentSince+d, now), 0
	}
	return now >= r.silentSince+r.ackTimeout
}

// prolong lets a request for a connection wait for longer if this device was absent. The intervals
// between its repetitions begin anew.
func (c *cm) prolong(n *cmConn) {
	if d := n.absences.by(c.away); d > 0 {
		n.giveUp, n.sent = n.giveUp+d, 1
	}
}
