package engine

// MonitorKey is the attribute by which a node declares itself a high-priority
// monitor, with any value (membership design, High Priority Monitoring; MS-59).
const MonitorKey = "zone.monitor"

// notice tells all monitors of a suspicion at once, besides all others (MS-60).
func (m *Machine) notice(s *Suspicion, silent bool) {
	var lists *Lists
	for _, p := range m.attributes.monitors {
		if p == m.self || p == s.Suspect || !m.view.has(p) {
			continue
		}
		if lists == nil {
			lists = &Lists{}
			if list := []Suspicion{*s}; silent {
				lists.Silences = list
			} else {
				lists.Suspicions = list
			}
		}
		m.send(p, Message{Kind: Notice, Lists: lists})
		m.out.Sends[len(m.out.Sends)-1].Priority = true
	}
}
