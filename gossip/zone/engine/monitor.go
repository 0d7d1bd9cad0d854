package engine

import (
	"slices"

	"ulnet/gossip/zone/wire"
)

// MonitorKey is the attribute by which a node declares itself a high-priority
// monitor, with any value (MS-59).
const MonitorKey = "zone.monitor"

// maxMonitors is how many monitors a node notifies of a suspicion.
const maxMonitors = 256

// mostMonitors returns the monitors to notify: the first of which this node has learned. The active delegate, which
// tells the supervisor, is always among them.
func (m *Machine) mostMonitors() []wire.Ref {
	all := m.attributes.monitors
	if len(all) <= maxMonitors {
		return all
	}
	list := all[:maxMonitors]
	if m.delegate == nil {
		return list
	}
	if active, _ := m.delegate.leader(m); slices.Index(all, active) >= maxMonitors {
		list = append(slices.Clone(list[1:]), active)
	}
	return list
}

// notice sends a suspicion to all monitors at once, in addition to the next update to all
// (MS-60).
func (m *Machine) notice(s *wire.Suspicion, silent bool) {
	var lists *wire.Lists
	for _, p := range m.mostMonitors() {
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
