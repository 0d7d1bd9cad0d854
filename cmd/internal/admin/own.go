package admin

import (
	"sync"

	"ulnet/lnet/nid"
)

// own is the answer of this node to a request. The zero value is ready.
type own struct {
	mu      sync.Mutex
	answer  []byte         // guarded by mu; nil until it is there
	waiting []func([]byte) // guarded by mu
}

// set sets the answer, if there was none.
func (o *own) set(answer []byte) {
	o.mu.Lock()
	if o.answer == nil {
		o.answer = answer
	}
	answer = o.answer
	waiting := o.waiting
	o.waiting = nil
	o.mu.Unlock()
	for _, f := range waiting {
		f(answer)
	}
}

// then calls f with the answer: now, or when it is there.
func (o *own) then(f func([]byte)) {
	o.mu.Lock()
	answer := o.answer
	if answer == nil {
		o.waiting = append(o.waiting, f)
	}
	o.mu.Unlock()
	if answer != nil {
		f(answer)
	}
}

// kept is how many answers are remembered.
const kept = 256

// memo remembers this node's answers: a broadcast to the live members that is
// sent again is not run again, and needs the answer that there was. The zero
// value is ready.
type memo struct {
	mu    sync.Mutex
	byKey map[memoKey]*own // guarded by mu
	order []memoKey        // guarded by mu; the oldest first
}

type memoKey struct {
	root nid.NID
	id   ID
}

// of returns the answer to a request, to be set if it is new.
func (m *memo) of(root nid.NID, id ID) *own {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := memoKey{root, id}
	if o := m.byKey[key]; o != nil {
		return o
	}
	if m.byKey == nil {
		m.byKey = make(map[memoKey]*own)
	}
	if len(m.order) == kept {
		delete(m.byKey, m.order[0])
		m.order = m.order[1:]
	}
	o := new(own)
	m.byKey[key], m.order = o, append(m.order, key)
	return o
}
