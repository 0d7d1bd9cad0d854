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

// take merges the answer of a child, copying what it keeps of the answer, and reports whether
// the answer is valid. If it is not valid, the child and all servers below it count as not
// having answered. An empty answer is not valid: a child with an older version of package scoll
// sends one after it has lost the answers of the servers below it.
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

// with returns the answers of the children, merged with this server's own answer. If own does not parse
// as an answer, this server is listed as absent.
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

// own is this server's own answer. It may be set before a callback starts to wait for it, or
// after. The zero value is ready for use.
type own struct {
	mu      sync.Mutex
	answer  []byte // nil: this server gives no answer; guarded by mu, like all below
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

// then passes the answer to f. If the answer is set already, then calls f before it returns. Otherwise
// the result late is true, and the method set will call f.
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
