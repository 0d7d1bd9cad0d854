package rmcast

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"time"

	"ulnet/scoll/rmcast/engine"
	"ulnet/scoll/rmcast/wire"
)

// Leave ends taking part: what this node has in flight is released first, and then
// what others have, of which it has its part to do (RM-A11), for at most LeaveAfter.
// The error is ctx's, or ErrUnfinished after LeaveAfter, with what is wrong with the managers
// if they do not answer; the group is left all the same, and others may lack messages of this
// node. Called by a handler it does nothing but return ErrInHandler. A handler that does not
// return is waited for a second longer.
//
// A manager has to be there until all have left: see docs/multicast.md, "In a program".
func (g *Group) Leave(ctx context.Context) error {
	if g.a.inHandler() {
		return ErrInHandler
	}
	late := make(chan struct{}) // a handler keeps the end from being told
	timer := g.a.cfg.Clock.AfterFunc(g.cfg.Engine().Filled().LeaveAfter+stuckAfter, func() { close(late) })
	defer timer.Stop()
	g.BeginLeave()
	var err error
	select {
	case <-g.gone:
		g.mu.Lock()
		err = g.why
		g.mu.Unlock()
		if err != nil {
			g.runner.Inspect(func() { err = g.m.Unheard(err) })
		}
	case <-late:
		err = ErrUnfinished
	case <-ctx.Done():
		err = ctx.Err()
	}
	g.close(g.a.closeBy(context.Background()))
	return err
}

// BeginLeave begins what Leave waits for. Handlers may call it.
func (g *Group) BeginLeave() {
	g.mu.Lock()
	g.left = true
	g.mu.Unlock()
	g.runner.Do(engine.Input{Kind: engine.Leave})
}

// close ends taking part at once, but for a handler that runs, which is waited for until
// an instant. It reports whether it has returned.
func (g *Group) close(by time.Duration) (over bool) {
	g.mu.Lock()
	again := g.closed
	g.closed, g.left = true, true
	g.mu.Unlock()
	if again {
		return true
	}
	a := g.a
	wait := by - a.cfg.Clock.Now()
	if over = g.runner.CloseWithin(wait); !over && wait > 0 {
		a.log.Warn("rmcast: a handler does not return; the group is left without it", slog.Any("group", g.cfg.Group))
	}
	incarnation := g.farewell()
	a.mu.Lock()
	a.incarnations[g.cfg.Group] = incarnation + 2 // the one between has been spoken of
	all := maps.Clone(*a.groups.Load())
	if all[g.cfg.Group] == g {
		delete(all, g.cfg.Group)
		a.groups.Store(&all)
	}
	a.mu.Unlock()
	g.unlisten()
	g.abandon()
	return over
}

// farewell tells the managers that this incarnation is over, if they count on it: the node
// may live on, so that nobody else tells them. It returns that incarnation.
func (g *Group) farewell() (incarnation uint64) {
	var over bool
	var o wire.Order
	g.runner.Inspect(func() { over, o = g.m.Farewell() })
	if incarnation = o.Incarnation - 1; over {
		return incarnation
	}
	b := o.AppendTo(nil)
	for _, to := range g.cfg.Managers {
		g.a.put(to, wire.ManagerPortal, false, b, nil)
	}
	return incarnation
}

// quit ends being a member, or begins to be one again.
func (g *Group) quit(why error) {
	g.told(Version{}, why)
	g.mu.Lock()
	if g.member {
		g.member, g.joined = false, make(chan struct{})
	}
	out := g.left || g.cfg.StayOut
	if out && !g.isGone() {
		if g.left && errors.Is(why, ErrUnfinished) {
			g.why = why
		}
		close(g.gone)
	}
	g.mu.Unlock()
	if !out {
		g.a.log.Warn("rmcast: expelled, joins again", slog.Any("group", g.cfg.Group), slog.Any("err", why))
		g.runner.Do(engine.Input{Kind: engine.Join})
		g.mu.Lock()
		out = g.left
		g.mu.Unlock()
		if out { // begun when this node was no member, which says nothing
			g.runner.Do(engine.Input{Kind: engine.Leave})
		}
	}
}

func (g *Group) isGone() bool {
	select {
	case <-g.gone:
		return true
	default:
		return false
	}
}

// abandon tells all who wait that it is over. A handler may still run: what it has not
// come to is not applied any more.
func (g *Group) abandon() {
	g.over.Store(true)
	g.mu.Lock()
	if !g.isGone() {
		close(g.gone)
	}
	for _, s := range g.waiting {
		s.answer(answer{err: ErrClosed})
	}
	posted := g.posted
	g.waiting, g.posted = nil, nil
	g.mu.Unlock()
	for _, s := range posted {
		s.done(Result{}, ErrClosed)
	}
}
