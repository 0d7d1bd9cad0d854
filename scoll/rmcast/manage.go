package rmcast

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/scoll/rmcast/engine"
	"ulnet/scoll/rmcast/wire"
)

// managing is a manager on this node.
type managing struct {
	a      *Agent
	group  GroupID
	g      *engine.Manager // stepped by runner
	runner *machine.Runner[engine.Input, engine.Output]

	certain Certain // the View, if it says which deaths are certain; else nil

	mu      sync.Mutex
	closed  bool // the manager is closed; guarded by mu, like all below
	unwatch func()
	asking  machine.Alarm // calls ask
	askAt   time.Duration // when asking is set to; Never: it is not set
	newsAt  time.Duration // time of the latest news about deaths, see news
}

// Manage makes this node a manager of a group: active, or on standby. The agent sets Self,
// Incarnation, Wall and, if empty, Managers. Managers must be the same on all managers and members,
// and must include this node. A manager must also call Join to be a member. Errors: ErrTaken,
// ErrClosed, or an error that says what is wrong with the group's number or with Managers.
func (a *Agent) Manage(cfg ManagerConfig) error {
	cfg.Self, cfg.Incarnation, cfg.Wall = a.cfg.Self, a.cfg.Incarnation, a.wall()
	if len(cfg.Managers) == 0 {
		cfg.Managers = []nid.NID{cfg.Self}
	}
	if err := cfg.Group.Check(); err != nil {
		return err
	}
	if !slices.Contains(cfg.Managers, cfg.Self) {
		return fmt.Errorf("rmcast: this node, %v, is not among the Managers of group %d: %v", cfg.Self, cfg.Group, cfg.Managers)
	}
	cfg.Members = min(orDefault(cfg.Members, a.cfg.Members), a.cfg.Members)
	cfg.Fragment = min(orDefault(cfg.Fragment, a.cfg.Fragment), a.cfg.Fragment)
	m := &managing{a: a, group: cfg.Group, g: engine.NewManager(cfg), askAt: machine.Never}
	m.certain, _ = a.cfg.View.(Certain)
	m.asking = machine.Alarm{Clock: a.cfg.Clock, Call: m.ask}
	m.runner = machine.NewRunner(machine.Config[engine.Input, engine.Output]{
		Machine: m.g, Clock: a.cfg.Clock, Apply: m.apply,
		Fault: func(err error) { a.log.Error("rmcast manager", slog.Any("err", err)) },
	})
	a.mu.Lock()
	all := maps.Clone(*a.manages.Load())
	switch {
	case a.stopped:
		a.mu.Unlock()
		return ErrClosed
	case all[cfg.Group] != nil:
		a.mu.Unlock()
		return ErrTaken
	}
	all[cfg.Group] = m
	a.manages.Store(&all)
	a.mu.Unlock()
	m.runner.Do(engine.Input{Kind: engine.Timer})
	if a.cfg.View != nil {
		m.watch(a.cfg.View)
	}
	return nil
}

func (m *managing) apply(out *engine.Output) {
	for i := range out.Effects {
		e := &out.Effects[i]
		switch e.Kind {
		case engine.DoReport:
			m.a.put(m.outbox(e), e.To, wire.ManagerPortal, false, out.Buf[e.Head.Begin:e.Head.End], e.Data)
		case engine.Elected:
			m.a.log.Info("rmcast: this node manages the group", slog.Any("group", m.group), slog.Uint64("epoch", e.Version.Epoch))
		case engine.Refused:
			m.a.log.Warn("rmcast: this manager refuses messages of a node", slog.Any("group", m.group), slog.Any("nid", e.To), slog.Any("err", e.Why))
		case engine.Denied:
			m.a.log.Warn("rmcast: a node refuses this manager", slog.Any("group", m.group), slog.Any("nid", e.To), slog.Any("err", e.Why))
		case engine.Quorum:
			m.quorum(e.Why)
		case engine.Doubting:
			m.news(true)
		case engine.Resigned:
			m.a.log.Info("rmcast: another node manages the group", slog.Any("group", m.group), slog.Any("nid", e.To))
		}
	}
}

// outbox returns the outbox that sends the message of an effect.
func (m *managing) outbox(e *engine.Effect) *portals.Outbox[struct{}] {
	switch {
	case e.Stranger:
		return &m.a.strangers
	case e.Refusal:
		return &m.a.refusals
	}
	return &m.a.outbox
}

// quorum logs that the group cannot elect a manager or change its members, or that it can
// again.
func (m *managing) quorum(why error) {
	if why != nil {
		m.a.log.Warn("rmcast: too few members are heard", slog.Any("group", m.group), slog.Any("err", why))
		return
	}
	m.a.log.Info("rmcast: most members are heard again, or another node manages the group", slog.Any("group", m.group))
}

// close ends managing. It waits, until the instant by at the latest, for effects that are being applied,
// because an effect that sends a message to this node itself may run a handler.
func (m *managing) close(by time.Duration) {
	m.mu.Lock()
	unwatch := m.unwatch
	m.closed, m.unwatch = true, nil
	m.asking.Stop()
	m.mu.Unlock()
	if unwatch != nil {
		unwatch()
	}
	m.runner.CloseWithin(by - m.a.cfg.Clock.Now())
}

// Unmanage stops managing a group; another manager has to take over.
func (a *Agent) Unmanage(group GroupID) {
	a.mu.Lock()
	all := maps.Clone(*a.manages.Load())
	m := all[group]
	delete(all, group)
	a.manages.Store(&all)
	a.mu.Unlock()
	if m != nil {
		m.close(a.closeBy(context.Background()))
	}
}

// Managed returns the state of the manager of a group on this node. ok is false if there is
// none.
func (a *Agent) Managed(group GroupID) (s Managing, ok bool) {
	m := (*a.manages.Load())[group]
	if m == nil {
		return s, false
	}
	m.runner.Inspect(func() { s = m.g.Status() })
	return s, true
}
