package rmcast

import (
	"context"
	"slices"

	"ulnet/scoll/rmcast/engine"
)

// ErrFull says that the window has no room for a message.
var ErrFull error = &Error{Why: "the window is full; wait for what is in flight"}

// Result is the outcome of a message.
type Result struct {
	Seq     uint64  // sequence number of the message's first datagram
	Version Version // version of the list of members when the message was sent
	Failed  []ID    // members of that version that may lack it: they have ended or, with ErrSplit, may be alive
}

// answer tells a sender whether its message was accepted, or the outcome of the message.
type answer struct {
	accepted bool // the machine has accepted the message
	room     bool // there is room in the window: try again
	result   Result
	err      error
}

// Sending is a message on its way. Wait may be called once.
type Sending struct {
	g        *Group
	accepted chan answer // whether the message was accepted, or that there is room
	released chan answer // outcome of the message
	done     func(Result, error)
	left     bool // no goroutine waits for the outcome; guarded by g.mu
	index    int  // index in g.posted; guarded by g.mu
}

func (s *Sending) answer(a answer) {
	select {
	case s.accepted <- a:
	default:
	}
}

// keptSpare bounds the free Sendings that are kept for reuse.
const keptSpare = 256

// take returns a free Sending. The caller holds g.mu, as it does for give.
func (g *Group) take(done func(Result, error)) *Sending {
	if n := len(g.free); n > 0 {
		s := g.free[n-1]
		g.free = g.free[:n-1]
		s.done, s.left = done, false
		return s
	}
	return &Sending{g: g, accepted: make(chan answer, 1), released: make(chan answer, 1), done: done}
}

func (g *Group) give(s *Sending) {
	if s.done = nil; len(g.free) < keptSpare {
		g.free = append(g.free, s)
	}
}

// free makes a Sending available for another message.
func (s *Sending) free() {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	s.g.give(s)
}

// Send sends a message to all members, this node included. It returns when all members on the
// list under which it was sent have delivered it or have ended since
// (RM-2). A member has ended if it died, according to the View or an administrator, if it left,
// or if it joined again as another member, unless it had been left behind because it was silent. Result
// names these members. data may be reused when Send returns. If ctx ends first, the message may still be
// delivered; the error also says whether the group has no manager.
//
//	ErrInHandler  called by a handler: nothing was sent; see Post
//	ErrTooLong    longer than a window
//	ErrNotMember  this node was expelled, or never joined
//	ErrExpelled   this node was expelled before the end: it is unknown which members have it
//	ErrSplit      all members have it except silent ones that were left behind; Result
//	              names them too, and they may be alive
//	ErrLeft, ErrClosed
func (g *Group) Send(ctx context.Context, data []byte) (Result, error) {
	s, err := g.SendAsync(ctx, data)
	if err != nil {
		return Result{}, err
	}
	return s.Wait(ctx)
}

// SendAsync sends a copy of a message. It waits for room in the window only (RM-A16, RM-A17),
// not until all members have the message. Errors as Send.
func (g *Group) SendAsync(ctx context.Context, data []byte) (*Sending, error) {
	if g.a.inHandler() {
		return nil, ErrInHandler
	}
	g.mu.Lock()
	s := g.take(nil)
	g.mu.Unlock()
	for {
		g.runner.Do(engine.Input{Kind: engine.Send, Data: data, Token: s})
		select {
		case a := <-s.accepted:
			switch {
			case a.accepted:
				return s, nil
			case a.room: // there is room in the window: try again
			default:
				s.free()
				return nil, a.err
			}
		case <-ctx.Done():
			g.forget(s)
			return nil, g.late(ctx)
		case <-g.gone:
			g.forget(s)
			return nil, ErrClosed
		}
	}
}

// Post sends a copy of a message and calls done once with the outcome. If the window is full it
// calls done at once with ErrFull; otherwise it calls done later, with the results that Send
// would return. Post never blocks, and handlers may call it. done must not block either.
func (g *Group) Post(data []byte, done func(Result, error)) {
	s, err := g.post(done)
	if err != nil {
		done(Result{}, err)
		return
	}
	g.runner.Do(engine.Input{Kind: engine.Send, Data: data, Token: s})
}

// post returns a Sending, which gets an outcome even if the group is closed. It bounds the
// number of messages without an outcome, because no window bounds them at a member that is
// alone.
func (g *Group) post(done func(Result, error)) (*Sending, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return nil, ErrClosed
	case len(g.posted) == engine.MaxWindow:
		return nil, ErrFull
	}
	s := g.take(done)
	s.index = len(g.posted)
	g.posted = append(g.posted, s)
	return s, nil
}

// answered removes a Sending of Post, and returns its callback.
func (g *Group) answered(s *Sending) (done func(Result, error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over.Load() { // in this case abandon calls the callback
		return func(Result, error) {}
	}
	last := len(g.posted) - 1
	g.posted[last].index = s.index
	g.posted[s.index], g.posted[last] = g.posted[last], nil
	g.posted, done = g.posted[:last], s.done
	g.give(s)
	return done
}

// Wait returns when all live members have delivered the message. Called by a handler it
// returns ErrInHandler; another goroutine may then call it.
func (s *Sending) Wait(ctx context.Context) (Result, error) {
	g := s.g
	if g.a.inHandler() {
		return Result{}, ErrInHandler
	}
	select {
	case a := <-s.released:
		s.free()
		return a.result, a.err
	case <-ctx.Done():
		g.forget(s)
		return Result{}, g.late(ctx)
	case <-g.gone:
	}
	select {
	case a := <-s.released: // the outcome came before the group ended
		return a.result, a.err
	default:
		return Result{}, ErrClosed
	}
}

// forget stops waiting for a message that may still be delivered.
func (g *Group) forget(s *Sending) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s.left = true
	g.waiting = slices.DeleteFunc(g.waiting, func(w *Sending) bool { return w == s })
}

// settle passes the outcome of a message to its sender.
func (g *Group) settle(e *engine.Effect, out *engine.Output) {
	s := e.Token.(*Sending)
	if s.done != nil {
		g.settlePosted(s, e, out)
		return
	}
	switch e.Kind {
	case engine.Accepted:
		s.answer(answer{accepted: true})
	case engine.Full:
		g.mu.Lock()
		if !s.left {
			g.waiting = append(g.waiting, s)
		}
		g.mu.Unlock()
	case engine.Released:
		s.released <- answer{result: result(e, out), err: e.Why}
	case engine.Lost:
		a := answer{err: e.Why}
		if e.Seq == 0 { // the machine has not accepted the message
			s.answer(a)
			return
		}
		s.released <- a
	}
}

// settlePosted does the same as settle, for a message of Post.
func (g *Group) settlePosted(s *Sending, e *engine.Effect, out *engine.Output) {
	switch e.Kind {
	case engine.Full:
		g.answered(s)(Result{}, ErrFull)
	case engine.Released:
		g.answered(s)(result(e, out), e.Why)
	case engine.Lost:
		g.answered(s)(Result{Seq: e.Seq}, e.Why)
	}
}

func result(e *engine.Effect, out *engine.Output) Result {
	r := Result{Seq: e.Seq, Version: e.Version}
	if e.Failed.End > e.Failed.Begin {
		r.Failed = slices.Clone(out.IDs[e.Failed.Begin:e.Failed.End])
	}
	return r
}

// room makes the senders that wait for room try again.
func (g *Group) room() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.waiting {
		s.answer(answer{room: true})
	}
	clear(g.waiting)
	g.waiting = g.waiting[:0]
}
