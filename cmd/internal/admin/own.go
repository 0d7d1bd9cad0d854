package admin

import (
	"crypto/sha256"
	"slices"
	"sync"

	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// own is this node's answer to a request, which may be set later (a future). The zero value is
// ready for use.
type own struct {
	mu      sync.Mutex
	answer  []byte         // this node's answer; nil until it is set; guarded by mu
	waiting []func([]byte) // functions to call when the answer is set; guarded by mu
}

// set sets the answer, unless it is set already.
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

// then calls f with the answer once it is set; if it is set already, f is called at once.
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

// Bounds of the remembered answers: of all together, and of those to requests that one parent
// forwarded.
const (
	kept      = 256
	keptOfOne = kept / 4
)

// memo remembers this node's answers, because a broadcast to the live members can be sent again.
// The request does not run a second time then, but its answer is needed. The zero value is ready
// for use.
type memo struct {
	mu    sync.Mutex
	byKey map[memoKey]*own // answers by request; guarded by mu
	order []memoEntry      // requests in order, the oldest first; guarded by mu
}

// memoKey identifies a request. The id alone would not do: a member that got a request could send this node a false
// request with the same id before the genuine one arrives. The genuine request would get the answer to the false one.
type memoKey struct {
	root    nid.NID
	payload [sha256.Size]byte // digest of the payload, which contains the id
}

// memoEntry is a remembered answer, with the parent of the first attempt.
type memoEntry struct {
	memoKey
	parent nid.NID
}

// of returns the answer to a request: that of an earlier attempt, or a new one that is not set
// yet. If the request has run here in an earlier attempt, so that repeated is set, but its answer was
// dropped since, of returns an answer with the status ESTALE: the request does not run again, and
// would have no answer.
func (m *memo) of(parent, root nid.NID, payload []byte, repeated bool) *own {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := memoKey{root, sha256.Sum256(payload)}
	if o := m.byKey[key]; o != nil {
		return o
	}
	if repeated {
		lost := Answer{Version: Version, Status: scoll.ESTALE}
		return &own{answer: lost.AppendTo(nil)}
	}
	if m.byKey == nil {
		m.byKey = make(map[memoKey]*own)
	}
	m.room(parent)
	o := new(own)
	m.byKey[key], m.order = o, append(m.order, memoEntry{key, parent})
	return o
}

// room makes room for one more answer: it drops the oldest one of the same parent if that
// parent has many, otherwise the oldest of all. The caller holds m.mu.
func (m *memo) room(parent nid.NID) {
	first, count := -1, 0
	for i := range m.order {
		if m.order[i].parent == parent {
			if count++; count == 1 {
				first = i
			}
		}
	}
	switch {
	case count >= keptOfOne:
	case len(m.order) == kept:
		first = 0
	default:
		return
	}
	delete(m.byKey, m.order[first].memoKey)
	m.order = slices.Delete(m.order, first, first+1)
}
