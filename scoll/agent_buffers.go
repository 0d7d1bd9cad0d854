package scoll

import (
	"slices"
	"sync"

	"ulnet/scoll/engine"
)

// buffers is the memory that a request has posted to the network.
type buffers struct {
	mu          sync.Mutex
	posts       []*post // posts for replies of children; guarded by mu, like all below
	exposed     []*post
	linked      int  // number of posts that the network may still use
	handling    int  // number of events of posts that are being handled
	withdrawing bool // the machine waits until linked is 0
	over        bool // the request has ended: the elements of posts can be reused
	few         [8]*post
}

// PostReply posts a buffer for a message of a child's reply, in PreRequest, or at the root
// before Send. A child whose reply has several messages needs as many buffers. The buffer
// belongs to the module until [Service].IncomingReply gets its content, or an error; if
// [Request.Busy] is true in [Service].PostReply, until ReplyOut.
//
//	EINVAL    no such child
//	EALREADY  too late
//	ESTALE    the handle has ended
func (r *Request) PostReply(child int, buf []byte) error {
	r.mu.Lock()
	stage, err := r.stage, r.refusal()
	r.mu.Unlock()
	switch {
	case stage == endedStage:
		return err
	case stage != preparingStage:
		return EALREADY
	case child < 0 || child >= len(r.children):
		return EINVAL
	}
	r.buffers.add(r, child, buf)
	return nil
}

func (b *buffers) add(r *Request, child int, buf []byte) *post {
	p := r.agent.posts.Get().(*post)
	p.r, p.child, p.buf = r, child, buf
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.posts == nil {
		b.posts = b.few[:0]
	}
	b.posts = append(b.posts, p)
	return p
}

// recycle returns to the pool the posts of a request that has ended, as far as they are not in use.
func (r *Request) recycle() {
	b := &r.buffers
	b.mu.Lock()
	b.over = true
	for _, p := range b.posts {
		p.reuse()
	}
	b.posts = nil
	if r.copied != nil {
		r.agent.payloads.Put(r.copied)
		r.payload, r.copied = nil, nil
	}
	idle := b.isIdle()
	b.mu.Unlock()
	if idle {
		r.release()
	}
}

// isIdle reports whether the request has ended and nothing of the module uses it any more. The
// caller holds b.mu.
func (b *buffers) isIdle() bool { return b.over && b.linked == 0 && b.handling == 0 }

// release returns an idle request to the pool, unless its service may still have the handle.
func (r *Request) release() {
	if a := r.agent; r.service == nil || r.service.Reuse {
		*r = Request{}
		a.handles.Put(r)
	}
}

// unposted returns the first child without a buffer, or -1.
func (b *buffers) unposted(children int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range children {
		if !slices.ContainsFunc(b.posts, func(p *post) bool { return p.child == i }) {
			return i
		}
	}
	return -1
}

// reset drops all posts. The network must not use them any more.
func (b *buffers) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.posts, b.exposed = nil, nil
}

// of appends the posts of a child to list.
func (b *buffers) of(list []*post, child int) []*post {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.posts {
		if p.child == child {
			list = append(list, p)
		}
	}
	return list
}

// tellQuiet tells the machine that the network uses no buffer of the request any more, if the
// machine waits for that.
func (r *Request) tellQuiet() {
	b := &r.buffers
	b.mu.Lock()
	quiet := b.withdrawing && b.linked == 0
	if quiet {
		b.withdrawing = false
	}
	b.mu.Unlock()
	if quiet {
		r.agent.do(engine.Input{Kind: engine.InWithdrawn, ID: r.id})
	}
}

// payload returns the payload of a part of a child's reply.
func (b *buffers) payload(child int, part uint32, size uint64) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.posts {
		if p.child == child && p.filled && p.part == part && size <= uint64(len(p.buf)) {
			return p.buf[:size]
		}
	}
	return nil
}

// unpost withdraws a child's buffers.
func (r *Request) unpost(child int) {
	var few [8]*post
	unlink(r, r.buffers.of(few[:0], child))
}

// withdraw withdraws all buffers, and tells the machine when the network uses none any more.
func (r *Request) withdraw() {
	r.unlinkAll()
	r.buffers.mu.Lock()
	r.buffers.withdrawing = true
	r.buffers.mu.Unlock()
	r.tellQuiet()
}

func (r *Request) unlinkAll() {
	r.buffers.mu.Lock()
	posts, exposed, linked := r.buffers.posts, r.buffers.exposed, r.buffers.linked
	r.buffers.mu.Unlock()
	if linked > 0 {
		unlink(r, posts)
		unlink(r, exposed)
	}
}

func unlink(r *Request, posts []*post) {
	for _, p := range posts {
		r.buffers.mu.Lock()
		entry, linked := p.entry, p.linked
		r.buffers.mu.Unlock()
		if linked {
			_ = r.agent.table.MEUnlink(entry) // ENOENT: a message is arriving in the buffer
		}
	}
}
