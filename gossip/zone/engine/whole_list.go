package engine

import "time"

// wholeList says whether and when an active delegate sends its supervisor the list of all members of the zone (MS-97).
// If the supervisor asks for the list again after it got one, the delegate waits before it sends the next one, with
// exponential back-off: the list may be long, and does not help if its parts arrive in another order each time.
type wholeList struct {
	wanted bool          // the supervisor has to get the list
	sent   time.Duration // when the list was last sent to this supervisor; 0: never
	wait   time.Duration // time after sent in which the list is not sent again
}

// due reports whether the next registration has the list.
func (w *wholeList) due(m *Machine) bool { return w.wanted && m.now >= w.sent+w.wait }

// take reports whether the list is sent now.
func (w *wholeList) take(m *Machine) bool {
	if !w.due(m) {
		return false
	}
	w.wanted, w.sent, w.wait = false, m.now, min(max(2*w.wait, m.cfg.Heartbeat), maxBackoff)
	return true
}

// answered handles an answer of the supervisor, which asks for the list, or knows all members. In the latter case the
// list is not needed any more, unless it is due: then later changes were not recorded. It reports whether the list has
// to be sent.
func (w *wholeList) answered(m *Machine, want bool) bool {
	if want {
		w.wanted = true
	} else if !w.due(m) {
		w.wanted, w.wait = false, 0
	}
	return w.wanted
}
