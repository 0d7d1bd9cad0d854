package rmcast

import (
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/engine"
)

// askEvery is how often a View is asked whether the deaths that it has reported are certain.
const askEvery = 250 * time.Millisecond

// watch passes reports of a View to the manager.
func (m *managing) watch(v View) {
	certain, _ := v.(Certain)
	unwatch := v.Watch(func(id nid.NID, alive bool, _ uint64) {
		m.runner.Do(engine.Input{Kind: engine.Health, From: id, Alive: alive, Doubt: certain != nil && !alive})
		if certain != nil && !alive {
			m.askLater(certain)
		}
	})
	m.mu.Lock()
	late := m.closed
	m.unwatch = unwatch
	m.mu.Unlock()
	if late {
		unwatch()
	}
}

// ask asks the View about the deaths that are not certain yet and matter to the group, and asks again later while the
// manager doubts any death. The manager also doubts a death of which the View is certain, as long as it hears the
// member.
func (m *managing) ask(v Certain) {
	m.mu.Lock()
	m.asking = nil // a death that is reported from now on sets a timer
	m.mu.Unlock()
	var doubted []engine.Doubt
	m.runner.Inspect(func() { doubted = m.g.Doubted() })
	now := m.a.cfg.Clock.Now()
	for _, d := range doubted {
		if v.Ended(d.Node, now-d.Began) {
			m.runner.Do(engine.Input{Kind: engine.Ended, From: d.Node})
		}
	}
	var left bool
	m.runner.Inspect(func() { left = m.g.Doubts() })
	if left {
		m.askLater(v)
	}
}

// askLater sets the timer of ask, unless it is set.
func (m *managing) askLater(v Certain) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asking == nil && !m.closed {
		m.asking = m.a.cfg.Clock.AfterFunc(askEvery, func() { m.ask(v) })
	}
}
