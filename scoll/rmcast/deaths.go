package rmcast

import (
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/engine"
)

// A View may never be certain of a death, as when gossip has given up on this node, or the dead node is not on gossip's list.
// So the time between two questions grows with the time since the latest news, and a certain death counts later by an eighth of
// that time at most: by askEvery or less at first, by askSeldom or less at any time.
const (
	askEvery  = 250 * time.Millisecond // how soon a View is asked at the earliest whether the deaths that it has reported are certain
	askSeldom = 4 * time.Second        // how long at most a View is not asked while a death is not certain
)

// watch passes reports of a View to the manager.
func (m *managing) watch(v View) {
	unwatch := v.Watch(func(id nid.NID, alive bool, _ uint64) {
		doubt := m.certain != nil && !alive
		m.runner.Do(engine.Input{Kind: engine.Health, From: id, Alive: alive, Doubt: doubt})
		m.news(doubt)
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
func (m *managing) ask() {
	m.mu.Lock()
	now := m.a.cfg.Clock.Now()
	if now < m.askAt { // the timer was set again, too late to be stopped
		m.asking.Set(now, m.askAt)
		m.mu.Unlock()
		return
	}
	m.askAt = machine.Never // news from now on sets the timer
	m.mu.Unlock()
	var doubted []engine.Doubt
	m.runner.Inspect(func() { doubted = m.g.Doubted() })
	for _, d := range doubted {
		if m.certain.Ended(d.Node, now-d.Began) {
			m.runner.Do(engine.Input{Kind: engine.Ended, From: d.Node})
		}
	}
	var left bool
	m.runner.Inspect(func() { left = m.g.Doubts() })
	if left {
		m.askLater()
	}
}

// news makes the manager ask soon, if it is to ask at all: doubt says that there is a death to ask about. Deaths that are
// doubted already may be certain soon, too: for instance, when the network is whole again the View reports others as alive.
func (m *managing) news(doubt bool) {
	m.mu.Lock()
	m.newsAt = m.a.cfg.Clock.Now()
	doubt = doubt || m.askAt != machine.Never
	m.mu.Unlock()
	if doubt {
		m.askLater()
	}
}

// askLater sets the timer of ask, unless it is set for an earlier time.
func (m *managing) askLater() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.a.cfg.Clock.Now()
	at := now + min(max((now-m.newsAt)/8, askEvery), askSeldom)
	if at < m.askAt && !m.closed {
		m.askAt = at
		m.asking.Set(now, at)
	}
}
