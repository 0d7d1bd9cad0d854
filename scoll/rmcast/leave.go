package rmcast

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"ulnet/scoll/rmcast/engine"
	"ulnet/scoll/rmcast/wire"
)

// Leave leaves the group. Before that, it waits for at most LeaveAfter: first until this node's
// messages in flight are released, and then until those are released that this node passes on
// for other members (RM-A11). The error is that of ctx, or ErrUnfinished: after LeaveAfter, or
// if the manager counts this node as failed while messages of it are in flight. If managers do
// not answer, ErrUnfinished has the reason. This node leaves the group in any case,
// but after an error other members may lack messages of this node. Called by a handler, Leave
// does nothing and returns ErrInHandler. Leave waits up to a second longer for a handler that
// is running.
//
// A manager must be up until all members have left: see docs/multicast.md, "In a program".
func (g *Group) Leave(ctx context.Context) error {
	if g.a.inHandler() {
		return ErrInHandler
	}
	late := make(chan struct{}) // closed if the group has not ended in time, because a handler still runs
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

// BeginLeave starts to leave the group, and does not wait for the end as Leave does. Handlers
// may call it.
func (g *Group) BeginLeave() {
	g.mu.Lock()
	g.left = true
	g.mu.Unlock()
	g.runner.Do(engine.Input{Kind: engine.Leave})
}

// close leaves the group at once. It waits for a running handler until the instant by, and
// reports whether no handler runs any more. A second call waits as well.
func (g *Group) close(by time.Duration) (over bool) {
	a := g.a
	if !a.closes(g) {
		return g.ends(by)
	}
	wait := by - a.cfg.Clock.Now()
	if !g.runner.CloseWithin(wait) && wait > 0 {
		a.log.Warn("rmcast: a handler does not return; the group is left without it", slog.Any("group", g.cfg.Group))
	}
	incarnation := g.farewell()
	a.mu.Lock()
	a.incarnations[g.cfg.Group] = incarnation + 2 // not incarnation + 1, which the message of farewell to the managers may have named
	all := maps.Clone(*a.groups.Load())
	if all[g.cfg.Group] == g {
		delete(all, g.cfg.Group)
		a.groups.Store(&all)
	}
	a.mu.Unlock()
	g.unlisten()
	g.abandon()
	close(g.ended)
	return g.ends(0)
}

// closes begins to close a group, and reports whether that is the first call. From now on, each Close of
// the agent waits for the handlers of the group.
func (a *Agent) closes(g *Group) (first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	if first = !g.closed; first {
		a.handling = append(a.handling, g)
	}
	g.closed, g.left = true, true
	return first
}

// ends waits until the instant by for the handlers of a group that is being closed, and reports whether
// none runs any more. The agent then forgets the group.
func (g *Group) ends(by time.Duration) (over bool) {
	a := g.a
	if wait := by - a.cfg.Clock.Now(); wait > 0 {
		expired := make(chan struct{})
		timer := a.cfg.Clock.AfterFunc(wait, func() { close(expired) })
		defer timer.Stop()
		select {
		case <-g.ended:
		case <-expired:
		}
	}
	over = g.runner.CloseWithin(by - a.cfg.Clock.Now())
	select {
	case <-g.ended:
	default:
		return false
	}
	if over {
		a.mu.Lock()
		a.handling = slices.DeleteFunc(a.handling, func(h *Group) bool { return h == g })
		a.mu.Unlock()
	}
	return over
}

// forgetHandled forgets the groups whose handlers have returned since they were left.
func (a *Agent) forgetHandled() {
	a.mu.Lock()
	handling := slices.Clone(a.handling)
	a.mu.Unlock()
	for _, g := range handling {
		g.ends(0)
	}
}

// farewell tells the managers that this incarnation has ended, since the node may live on and
// no other source reports it. It returns that incarnation.
func (g *Group) farewell() (incarnation uint64) {
	var over bool
	var o wire.Order
	g.runner.Inspect(func() { over, o = g.m.Farewell() })
	if incarnation = o.Incarnation - 1; over {
		return incarnation
	}
	b := o.AppendTo(nil)
	for _, to := range g.cfg.Managers {
		g.a.put(&g.a.outbox, to, wire.ManagerPortal, false, b, nil)
	}
	return incarnation
}

// quit handles the end of this node's membership: the node stays out, or joins again.
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
		if out { // BeginLeave was called while this node was not a member, and had no effect
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

// abandon tells all waiting senders that the group was left. A handler may still run; later
// effects of its step are not applied.
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
	g.tell(posted)
}

// tell tells the functions of posted messages that the group was left. As for apply, inHandler searches
// the stack for tell.
//
//go:noinline
func (g *Group) tell(posted []*Sending) {
	g.a.applying.Add(1)
	defer g.a.applying.Add(-1)
	for _, s := range posted {
		s.done(Result{}, ErrClosed)
	}
}
