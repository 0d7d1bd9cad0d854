package scoll

import (
	"slices"
	"sync"

	"ulnet/lnet/nid"
)

// ownAnswer is what the handler of this node answers: the first that is set. All attempts
// of a call have the same. The zero value is ready.
type ownAnswer struct {
	mu      sync.Mutex
	done    bool     // guarded by mu, like all below
	answer  []byte   // read-only once done
	err     error    // likewise
	waiting []func() // for the answer
	ended   func()   // to be told that it was given up
}

// set sets the answer, if there is none. Functions that wait for it are called.
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

// then calls f when the answer is there, perhaps now.
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

// get returns the answer, which is there.
func (o *ownAnswer) get() ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.answer, o.err
}

// onEnd has f called if the answer is given up, or there is one already.
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

// giveUp ends the wait for the handler.
func (o *ownAnswer) giveUp() {
	o.mu.Lock()
	f := o.ended
	o.mu.Unlock()
	if f != nil {
		f()
	}
	o.set(nil, ECANCELED)
}

// keptAnswers is how many answers to calls that go to the live members are remembered,
// keptOfOne how many of those that came through one parent.
const (
	keptAnswers = 256
	keptOfOne   = keptAnswers / 4
)

// ownAnswers remembers this node's answers: a call to the live members that is sent again
// is not run again, and needs the answer that there was. The zero value is ready.
type ownAnswers struct {
	mu    sync.Mutex
	byKey map[attempt]*ownAnswer // guarded by mu
	order []answerFor            // guarded by mu; the oldest first
}

type answerFor struct {
	attempt
	parent nid.NID // of the first attempt
}

// of returns the answer to a request of others: a new one, or the one that there is or will
// be of an earlier attempt. One that was forgotten is ESTALE.
func (m *ownAnswers) of(r *Request) *ownAnswer {
	if !r.Live() {
		return new(ownAnswer)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.byKey[r.attempt]
	switch {
	case o != nil:
		return o
	case r.repeated:
		return &ownAnswer{done: true, err: ESTALE}
	case m.byKey == nil:
		m.byKey = make(map[attempt]*ownAnswer)
	}
	parent := r.ParentNID()
	m.room(parent)
	o = new(ownAnswer)
	m.byKey[r.attempt], m.order = o, append(m.order, answerFor{r.attempt, parent})
	return o
}

// room makes room for one more: of a parent with many its own oldest goes. The caller holds
// m.mu.
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
	delete(m.byKey, m.order[oldest].attempt)
	m.order = slices.Delete(m.order, oldest, oldest+1)
}
