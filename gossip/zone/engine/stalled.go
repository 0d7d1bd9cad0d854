package engine

import "ulnet/lnet/machine"

// If a node stands still for a moment at the end of a member's grace period, the refutation may be among the
// messages that have come meanwhile, but the timer that ends the grace period is handled first. Therefore,
// while a grace period runs, the machine asks to be stepped each τ/8. If a step is later by more than that,
// or processes a message that waited here for longer, the machine prolongs the grace period once. A node that
// is slow for long therefore removes members late, but removes them.

// graces reports whether a member has time to refute what others say of it.
func (m *Machine) graces() bool {
	return len(m.relayed.all()) > 0 || m.suspicions.due < machine.Never || len(m.summonses.list) > 0
}

// prolong extends the grace periods that run, each once, to at least relayGrace from now.
func (m *Machine) prolong() {
	until := m.now + m.relayGrace()
	goodbyes := m.relayed.all()
	for i := range goodbyes {
		if g := &goodbyes[i]; !g.prolonged {
			g.until, g.prolonged = max(g.until, until), true
		}
	}
	for i := range m.suspicions.list {
		if s := &m.suspicions.list[i]; s.grace > 0 && !s.prolonged {
			s.grace, s.prolonged = max(s.grace, until), true
		}
	}
	for i := range m.summonses.list {
		if s := &m.summonses.list[i]; s.until > 0 && s.why == corrected && !s.prolonged {
			s.until, s.prolonged = max(s.until, until), true
		}
	}
}
