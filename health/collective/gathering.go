package collective

import (
	"sync"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// gathering merges the answers of the children to a request.
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

// take merges the answer of a child, whose memory it does not keep, and reports whether it is
// valid. If it is not, the child and all servers below it count as not having answered. An empty
// answer is not valid: it comes from a child with an older version of package scoll, which has
// lost the answers from below.
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

// with merges this server's own answer, nil if there is none, with those of the children.
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

// all returns the merged answer of the children.
func (g *gathering) all() Answer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.answer
}

// own is this server's answer, which may be set before or after a callback waits for it. The zero
// value is ready for use.
type own struct {
	mu      sync.Mutex
	answer  []byte // nil: there will be none; guarded by mu, like all below
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

// then calls f with the answer, at once or when it is set. late reports the second case.
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
