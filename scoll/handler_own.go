package scoll

import (
	"crypto/sha256"
	"slices"
	"sync"

	"ulnet/lnet/nid"
)

// ownAnswer is the answer of this node's handler: a future that all attempts of a call share.
// Only the first call of set has an effect. The zero value is ready.
type ownAnswer struct {
	mu      sync.Mutex
	done    bool     // the handler has answered; guarded by mu, like all below
	answer  []byte   // the handler's answer; not changed once done is set
	err     error    // the handler's error; not changed once done is set
	waiting []func() // functions to call when the answer is set
	ended   func()   // called if the answer is no longer wanted
}

// set sets the answer, if there is none, and calls the functions that wait for it.
func (o *ownAnswer) set(answer []byte, err error) {
	o.mu.Lock()
	if o.done {
		o.mu.Unlock()
		return
	}
	o.done, o.answer, o.err = true, answer, err
	waiting := o.waiting
	o.waiting, o.ended = nil, nil
	o.mu.Unlock()
	for _, f := range waiting {
		f()
	}
}

// then calls f once the answer is set: at once, if it is set already.
func (o *ownAnswer) then(f func()) {
	o.mu.Lock()
	done := o.done
	if !done {
		o.waiting = append(o.waiting, f)
	}
	o.mu.Unlock()
	if done {
		f()
	}
}

// get returns the answer, which must be set.
func (o *ownAnswer) get() ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.answer, o.err
}

// onEnd registers f to be called if the answer is given up. It calls f at once if the answer
// is set.
func (o *ownAnswer) onEnd(f func()) {
	o.mu.Lock()
	done := o.done
	if !done {
		o.ended = f
	}
	o.mu.Unlock()
	if done {
		f()
	}
}

// giveUp stops waiting for the handler and sets the error ECANCELED.
func (o *ownAnswer) giveUp() {
	o.mu.Lock()
	f := o.ended
	o.mu.Unlock()
	if f != nil {
		f()
	}
	o.set(nil, ECANCELED)
}

// Bounds of ownAnswers: it remembers at most keptAnswers answers, of which at most keptOfOne are
// to calls that came from the same parent.
const (
	keptAnswers = 256
	keptOfOne   = keptAnswers / 4
)

// ownAnswers remembers this node's answers to calls that go to the live members. The caller may
// attempt such a call again. The handler does not run again then, and the node sends the remembered
// answer. The zero value is ready.
type ownAnswers struct {
	mu    sync.Mutex
	byKey map[asking]*ownAnswer // answers by attempt and question; guarded by mu
	order []answerFor           // keys of byKey, the one added first in front; guarded by mu
}

// asking identifies a question in an attempt. If answers were remembered by attempt only, a node could forge an
// attempt with another question, and this node would return the answer to the forged question when the genuine request
// comes.
type asking struct {
	attempt
	question [sha256.Size]byte // digest of the payload
}

type answerFor struct {
	asking
	parent nid.NID // this node's parent in the first attempt's tree
}

// of returns the answer to a request of another node: a new one, or that of an earlier attempt.
// If the answer of an earlier attempt was dropped, of returns an answer with the error ESTALE.
func (m *ownAnswers) of(r *Request) *ownAnswer {
	if !r.Live() {
		return new(ownAnswer)
	}
	key := asking{r.attempt, sha256.Sum256(r.payload)}
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.byKey[key]
	switch {
	case o != nil:
		return o
	case r.repeated:
		return &ownAnswer{done: true, err: ESTALE}
	case m.byKey == nil:
		m.byKey = make(map[asking]*ownAnswer)
	}
	parent := r.ParentNID()
	m.room(parent)
	o = new(ownAnswer)
	m.byKey[key], m.order = o, append(m.order, answerFor{key, parent})
	return o
}

// room makes room for one more answer: it drops the oldest one of the same parent if that
// parent has many, otherwise the oldest of all. The caller holds m.mu.
func (m *ownAnswers) room(parent nid.NID) {
	oldest, count := 0, 0
	for i, e := range slices.Backward(m.order) {
		if e.parent == parent {
			oldest, count = i, count+1
		}
	}
	if count < keptOfOne {
		if oldest = 0; len(m.order) < keptAnswers {
			return
		}
	}
	delete(m.byKey, m.order[oldest].asking)
	m.order = slices.Delete(m.order, oldest, oldest+1)
}
