package engine

import "time"

// wholeList decides when an active delegate sends its supervisor the list of all members of the zone (MS-97). If
// the supervisor asks again after it has received a list, the delegate waits before it sends the next one, with
// exponential back-off: the list may be long, and sending it again is useless if its parts arrive in a different
// order each time. On a slow network, changes of the zone, which have priority, may overtake a list that lacks them.
// The supervisor then asks for another list not when it receives this one, but after the next change. So the back-off
// ends only after a heartbeat whose answers do not ask for the list.
type wholeList struct {
	wanted bool          // the supervisor has to get the list
	sent   time.Duration // when the list was last sent to this supervisor; 0: never
	wait   time.Duration // time after sent in which the list is not sent again
	right  time.Duration // since when all answers have said that the supervisor knows all members; 0: the last one did not
}

// due reports whether the next registration will contain the list.
func (w *wholeList) due(m *Machine) bool { return w.wanted && m.now >= w.sent+w.wait }

// take is like due. If the result is true, it also records that the caller sends the list now.
func (w *wholeList) take(m *Machine) bool {
	if !w.due(m) {
		return false
	}
	w.wanted, w.sent, w.wait = false, m.now, min(max(2*w.wait, m.cfg.Heartbeat), maxBackoff)
	return true
}

// answered handles an answer of the supervisor. The parameter want is true if the supervisor asks for the list,
// and false if it knows all members. In the second case the list need not be sent any more, unless it is due
// already: since it became due, the delegate has not recorded changes, because the list will contain them. The
// result is true if the list has still to be sent.
func (w *wholeList) answered(m *Machine, want bool) bool {
	switch {
	case want:
		w.wanted, w.right = true, 0
	case w.due(m):
	case w.right == 0:
		w.wanted, w.right = false, m.now
	case m.now >= w.right+m.cfg.Heartbeat:
		w.wait = 0
	}
	return w.wanted
}
