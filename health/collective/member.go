package collective

import (
	"log/slog"
	"sync/atomic"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/machine"
	"ulnet/scoll"
)

// received is a request of another server that this server is handling.
type received struct {
	memory int64         // bytes of the request's buffers
	until  time.Duration // time after which this server's own answer is too late
	own    own
	timer  atomic.Pointer[machine.Timer] // fires at the time until
	gathering
}

// preRequest checks a request and posts buffers for the answers of the children.
func (b *Broadcaster) preRequest(r *scoll.Request) error {
	if c, root := r.Private().(*call); root {
		return c.begin(r) // this server is the root: scoll repeats its request in another attempt
	}
	batch, err := wire.ParseBatch(r.Payload())
	if err != nil {
		b.stats.malformed.Add(1)
		return scoll.EINVAL
	}
	p := &received{until: b.cfg.Clock.Now() + patience(b.cfg.Processing), gathering: gathering{entries: batch.Entries.Len()}}
	for i := range r.Children() {
		p.memory += int64(longest(p.entries, r.Child(i).Nodes))
	}
	if b.stats.memory.Add(p.memory) > b.cfg.MaxMemory {
		b.stats.memory.Add(-p.memory)
		b.stats.busy.Add(1)
		return scoll.EBUSY
	}
	if err := post(r, p.entries); err != nil {
		b.stats.memory.Add(-p.memory)
		return err
	}
	r.Data = p
	// scoll calls incomingRequest only for the first copy of a request. For a repeated one, make the
	// evictions, which are idempotent, again to get the answer.
	if r.Repeated() {
		b.run(r, p)
	}
	return nil
}

// patience returns how long a server waits for its own answer. That is shorter than its parent
// waits for this server, so the parent gets at least the answers of the servers below.
func patience(processing time.Duration) time.Duration { return processing * 3 / 4 }

// incomingRequest makes this server's own answer. It never returns an error: after an error
// package scoll would pass on the children's answers without merging them, and only as many of them
// as fit its reply.
func (b *Broadcaster) incomingRequest(r *scoll.Request) error {
	if p, ok := r.Data.(*received); ok {
		b.run(r, p)
	}
	return nil
}

// run makes the agent of health answer the request.
func (b *Broadcaster) run(r *scoll.Request, p *received) {
	answer := b.server()
	if answer == nil {
		b.stats.unserved.Add(1)
		p.own.set(nil)
		return
	}
	b.stats.served.Add(1)
	answer(r.RootNID(), r.Payload(), p.own.set)
}

// incomingReply merges the answer of a child.
func (b *Broadcaster) incomingReply(p *scoll.Reply) {
	if p.Status != scoll.OK {
		return // the root itself adds the missing servers to its outcome
	}
	var g *gathering
	if c, root := p.Request.Private().(*call); root {
		g = &c.gathering
	} else if at, ok := p.Request.Data.(*received); ok {
		g = &at.gathering
	}
	if g != nil && !g.take(p.Request, p.Child, p.Payload) {
		b.stats.badAnswers.Add(1)
		b.cfg.Log.Debug("an answer to an eviction makes no sense", slog.Any("nid", p.Request.ChildNID(p.Child)))
	}
}

// postReply answers the parent once this server's own answer is set.
func (b *Broadcaster) postReply(r *scoll.Request) {
	if c, root := r.Private().(*call); root {
		b.complete(r, c)
		return
	}
	p := r.Data.(*received)
	late := p.own.then(func(answer []byte) {
		if answer == nil {
			b.stats.absent.Add(1)
		}
		_ = r.Reply(p.with(r.NID(), answer)) // an error means that this server took too long, so scoll has answered
	})
	if late {
		t := b.cfg.Clock.AfterFunc(max(p.until-b.cfg.Clock.Now(), 0), func() { p.own.set(nil) })
		p.timer.Store(&t)
	}
}

// replyOut frees the resources of a request.
func (b *Broadcaster) replyOut(r *scoll.Request) {
	p, ok := r.Data.(*received)
	if !ok {
		return
	}
	b.stats.memory.Add(-p.memory)
	if t := p.timer.Load(); t != nil {
		(*t).Stop()
	}
}

// post posts a buffer for the answer of each child.
func post(r *scoll.Request, entries int) error {
	for i := range r.Children() {
		if err := r.PostReply(i, make([]byte, longest(entries, r.Child(i).Nodes))); err != nil {
			return err
		}
	}
	return nil
}
