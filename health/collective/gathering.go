package collective

import (
	"sync"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// gathering merges the answers of the children to a request.
type gathering struct {
	entries int // number of evictions in the request

	mu     sync.Mutex
	answer Answer // the merged answer; guarded by mu
}

func (g *gathering) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answer = Answer{}
}

// take merges the answer of a child, without keeping the answer's memory, and reports whether
// the answer is valid. If it is not valid, the child and all servers below it count as not
// having answered. An empty answer is not valid: it comes from a child with an older version of
// package scoll, which has lost the answers of the servers below.
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

// with merges this server's own answer, nil if there is none, with the answers of the children.
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

// all returns the merged answer of all children.
func (g *gathering) all() Answer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.answer
}

// own is this server's own answer, which may be set before or after a callback begins to wait
// for it. The zero value is ready for use.
type own struct {
	mu      sync.Mutex
	answer  []byte // nil: there will be none; guarded by mu, like all below
	there   bool
	waiting func([]byte)
}

// set sets the answer. Later calls have no effect.
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

// then calls f with the answer once it is set: before then returns, or later, which late
// reports.
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
