package collective

import (
	"sync"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// gathering is the answers to a request that came from children.
type gathering struct {
	entries int // evictions in the request

	mu     sync.Mutex
	answer Answer // merged; guarded by mu
}

func (g *gathering) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answer = Answer{}
}

// take merges what a child answers, of which it keeps nothing, and reports whether
// that makes sense. If not, the child and all below it did not answer. It is the
// same with an empty answer: a child with an older version of collectives speaks for
// its service so, and has lost what came from below it.
func (g *gathering) take(r *scoll.Request, child int, answer []byte) (ok bool) {
	a, err := ParseAnswer(answer, g.entries, r.Child(child).Nodes)
	if err != nil {
		a = Answer{Absent: r.ChildNIDs(child)}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.merge(&a)
	return err == nil || len(answer) == 0
}

// merge merges an answer. The caller holds g.mu.
func (g *gathering) merge(a *Answer) {
	g.answer.Absent = append(g.answer.Absent, a.Absent...)
	g.answer.Reply.Merge(a.Reply)
}

// with merges this server's own answer with those of the children: nil if there is
// none.
func (g *gathering) with(self nid.NID, own []byte) []byte {
	a := Answer{}
	var err error
	if a.Reply, err = wire.ParseReply(own); err != nil {
		a = Answer{Absent: []nid.NID{self}}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.merge(&a)
	return g.answer.AppendTo(nil)
}

// all is what came from the children.
func (g *gathering) all() Answer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.answer
}

// own is this server's answer, which may come before it is waited for or after.
// The zero value is ready.
type own struct {
	mu      sync.Mutex
	answer  []byte // guarded by mu, like all below; nil: there will be none
	there   bool
	waiting func([]byte)
}

// set sets the answer. Only the first counts.
func (o *own) set(answer []byte) {
	o.mu.Lock()
	if o.there {
		o.mu.Unlock()
		return
	}
	o.answer, o.there = answer, true
	waiting := o.waiting
	o.mu.Unlock()
	if waiting != nil {
		waiting(answer)
	}
}

// then calls f with the answer: now, or when it is there, which late says.
func (o *own) then(f func([]byte)) (late bool) {
	o.mu.Lock()
	o.waiting = f
	answer, there := o.answer, o.there
	o.mu.Unlock()
	if there {
		f(answer)
	}
	return !there
}
