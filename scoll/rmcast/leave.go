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
	late := make(chan struct{}) // closed if a running handler delays the end
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
	g.mu.Lock()
	again := g.closed
	g.closed, g.left = true, true
	g.mu.Unlock()
	a := g.a
	wait := by - a.cfg.Clock.Now()
	if again {
		return g.runner.CloseWithin(wait)
	}
	if over = g.runner.CloseWithin(wait); !over && wait > 0 {
		a.log.Warn("rmcast: a handler does not return; the group is left without it", slog.Any("group", g.cfg.Group))
	}
	incarnation := g.farewell()
	a.mu.Lock()
	a.incarnations[g.cfg.Group] = incarnation + 2 // incarnation + 1 may be used: farewell sends it to the managers
	all := maps.Clone(*a.groups.Load())
	if all[g.cfg.Group] == g {
		delete(all, g.cfg.Group)
		a.groups.Store(&all)
	}
	if !over {
		a.handling = append(a.handling, g)
	}
	a.mu.Unlock()
	g.unlisten()
	g.abandon()
	return over
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
		g.a.put(to, wire.ManagerPortal, false, b, nil)
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
	for _, s := range posted {
		s.done(Result{}, ErrClosed)
	}
}
