package engine

import "ulnet/gossip/zone/wire"

// MonitorKey is the attribute by which a node declares itself a high-priority
// monitor, with any value (MS-59).
const MonitorKey = "zone.monitor"

// notice sends a suspicion to all monitors at once, in addition to the next update to all
// (MS-60).
func (m *Machine) notice(s *wire.Suspicion, silent bool) {
	var lists *wire.Lists
	for _, p := range m.attributes.monitors {
		if p == m.self || p == s.Suspect || !m.view.has(p) {
			continue
		}
		if lists == nil {
			lists = &wire.Lists{}
			if list := []wire.Suspicion{*s}; silent {
				lists.Silences = list
			} else {
				lists.Suspicions = list
			}
		}
		m.send(p, wire.Message{Kind: wire.Notice, Lists: lists})
		m.out.Sends[len(m.out.Sends)-1].Priority = true
	}
}
