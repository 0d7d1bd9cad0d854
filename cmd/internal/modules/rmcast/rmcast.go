// Package rmcast is the daemon's module of reliable multicast: it joins and manages the groups
// of the configuration, and lets clients of the control socket send, listen and measure.
package rmcast

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/cmd/internal/statefiles"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast"
)

// Module is reliable multicast at a node.
type Module struct {
	node.Host
	view  rmcast.View // tells the managers on this node which nodes are alive
	first func(group string, m *rmcast.Message) bool

	cfg    *config.Rmcast
	self   nid.NID
	agent  *rmcast.Agent // the agent; nil: reliable multicast is not enabled
	groups []*group      // groups in the order of the configuration
}

// New returns the module of a node. The view tells which nodes are alive.
func New(host node.Host, view rmcast.View) *Module {
	return &Module{Host: host, view: view, first: func(string, *rmcast.Message) bool { return false }}
}

// Routes returns the operations of reliable multicast with their implementations.
func (m *Module) Routes() []control.Route {
	return []control.Route{
		OpStatus.Do(control.Ask(m.Status)), OpJoin.Do(m.Join), OpLeave.Do(m.Leave),
		OpExpel.Do(control.Act(m.Expel)), OpFaults.Do(control.Act(m.SetFaults)), OpSend.DoWith(m.Send),
		OpReceive.Do(m.Receive), OpBench.Do(m.Bench),
	}
}

// HearFirst registers a function of another module, which gets each message before listeners do.
// Listeners do not get messages for which f returns true. Call it before Open.
func (m *Module) HearFirst(f func(group string, msg *rmcast.Message) bool) { m.first = f }

// group is a group of the configuration.
type group struct {
	m   *Module
	cfg *config.McastGroup

	changing chan struct{} // holds a token while a goroutine joins or leaves, so that only one does at a time

	mu        sync.Mutex
	group     *rmcast.Group // the membership; nil: the node has not joined; guarded by mu, as all below
	faults    rmcast.Faults
	listeners []*listener
}

const (
	// goodbye bounds the time in which a stopping node leaves its groups.
	goodbye = time.Second
	// joinTimeout is how long operations wait by default for this node to become a member.
	joinTimeout = 10 * time.Second
)

// Open starts the agent, manages the groups whose managers include this node, and joins groups
// as the configuration says.
func (m *Module) Open() (err error) {
	m.cfg = &m.Config.Rmcast
	if !m.cfg.Enable {
		return nil
	}
	if m.self, err = m.Self("rmcast", "reliable multicast needs", m.cfg.NID); err != nil {
		return err
	}
	m.agent, err = rmcast.New(m.Table, rmcast.Config{
		Self: m.self, View: m.view, Log: m.Log, Clock: machine.CountSuspensions(m.Table.Node().Clock()), Wall: time.Now, Incarnation: m.Incarnation(),
		Buffers: m.cfg.Buffers, Fragment: m.cfg.Fragment(), Members: m.cfg.Members, Keys: m.cfg.Keys,
	})
	if err != nil {
		return err
	}
	for i := range m.cfg.Groups {
		g := &group{m: m, cfg: &m.cfg.Groups[i], changing: make(chan struct{}, 1)}
		m.groups = append(m.groups, g)
		if err := g.start(); err != nil {
			return fmt.Errorf("multicast group %s: %w", g.cfg.Name, err)
		}
	}
	m.Log.Info("reliable multicast starts", slog.Any("nid", m.self), slog.Int("groups", len(m.groups)))
	return nil
}

// admitted returns the nodes besides the managers that may be members; nil: all nodes.
func (g *group) admitted() []nid.NID { return g.m.Config.McastMembers(g.cfg) }

// warn logs settings that probably admit other nodes than intended.
func (g *group) warn() {
	log, list := g.m.Log.With(slog.String("group", g.cfg.Name)), g.admitted()
	switch {
	case list == nil && g.m.cfg.Keys.Len() == 0:
		log.Warn("every node can join this multicast group: list its members, set key_file in the section rmcast, or the nids of gossip")
	case list != nil && !slices.Contains(list, g.m.self) && !slices.Contains(g.cfg.Managers, g.m.self):
		log.Warn("this node is not among the members that the multicast group lists: managers with the same list do not let it in", slog.Any("nid", g.m.self))
	}
}

// start manages a group and joins it, if the configuration says so.
func (g *group) start() error {
	g.warn()
	if slices.Contains(g.cfg.Managers, g.m.self) {
		err := g.m.agent.Manage(rmcast.ManagerConfig{
			Group: rmcast.GroupID(g.cfg.Number), Managers: g.cfg.Managers, Admit: g.admitted(), Window: g.cfg.Window, Fragment: g.cfg.Fragment,
			MemberTimeout: g.memberTimeout(), LeastFragment: g.cfg.LeastFragment, LeastCapacity: g.cfg.LeastCapacity,
		})
		if err != nil {
			return err
		}
	}
	if !g.cfg.Join {
		return nil
	}
	return g.join()
}

// memberTimeout returns the configured timeout in the form of rmcast.ManagerConfig. A member that is silent is
// never left behind if the timeout is 0 in the configuration, or negative in rmcast.ManagerConfig.
func (g *group) memberTimeout() time.Duration {
	if g.cfg.MemberTimeout == 0 {
		return -1
	}
	return g.cfg.MemberTimeout
}

// join joins the group. EALREADY: this node has joined it.
func (g *group) join() error {
	group, err := g.enter()
	if err != nil {
		return err
	}
	g.entered(group)
	return nil
}

// enter begins a membership.
func (g *group) enter() (*rmcast.Group, error) {
	g.mu.Lock()
	faults, joined := g.faults, g.group != nil
	g.mu.Unlock()
	if joined {
		return nil, cli.Errnof(syscall.EALREADY, "group %s is joined already", g.cfg.Name)
	}
	group, err := g.m.agent.Join(rmcast.GroupConfig{
		Group: rmcast.GroupID(g.cfg.Number), Managers: g.cfg.Managers, Admit: g.admitted(), FIFO: g.cfg.FIFO,
		Seed: g.m.Incarnation(), Faults: faults,
		Handle: g.heard, OnChange: g.changed, NoMulticast: !g.cfg.Multicast,
	})
	if err != nil {
		return nil, explain(err)
	}
	return group, nil
}

// entered keeps the membership, and gives it the faults that were set while it began.
func (g *group) entered(group *rmcast.Group) {
	g.mu.Lock()
	g.group = group
	g.mu.Unlock()
	g.applyFaults(group.SetFaults)
}

// applyFaults calls set with the faults of the group, again if they were changed meanwhile: of several calls at the same
// time the last one has the latest faults.
func (g *group) applyFaults(set func(rmcast.Faults)) {
	latest := func() rmcast.Faults {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.faults
	}
	for {
		f := latest()
		if set(f); latest() == f {
			return
		}
	}
}

// leave leaves the group. ESRCH: this node has not joined it.
func (g *group) leave(ctx context.Context) error {
	g.mu.Lock()
	group := g.group
	g.mu.Unlock()
	if group == nil {
		return g.notJoined()
	}
	err := group.Leave(ctx)
	g.mu.Lock()
	g.group = nil
	g.mu.Unlock()
	return err
}

// change runs do while no other goroutine joins or leaves.
func (g *group) change(ctx context.Context, do func() error) error {
	select {
	case g.changing <- struct{}{}:
		defer func() { <-g.changing }()
		return do()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// joined returns this node's membership in the group. ESRCH: this node has not joined it.
func (g *group) joined() (*rmcast.Group, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.group == nil {
		return nil, g.notJoined()
	}
	return g.group, nil
}

func (g *group) notJoined() error {
	return cli.Hint(cli.Errnof(syscall.ESRCH, "this node takes no part in group %s", g.cfg.Name), "'scollctl mcast join %s' joins it", g.cfg.Name)
}

// ready returns this node's membership in a group, once the node may send.
func (m *Module) ready(ctx context.Context, name string, timeoutMS int64) (*rmcast.Group, error) {
	g, err := m.group(name)
	if err != nil {
		return nil, err
	}
	return g.ready(ctx, time.Duration(timeoutMS)*time.Millisecond)
}

// ready returns this node's membership, once the node may send. A timeout of 0 stands for the
// default.
func (g *group) ready(ctx context.Context, timeout time.Duration) (*rmcast.Group, error) {
	group, err := g.joined()
	if err != nil {
		return nil, err
	}
	if timeout <= 0 {
		timeout = joinTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, cli.Hint(
		cli.Errnof(syscall.ETIMEDOUT, "no member of group %s after %v: none of its managers answers", g.cfg.Name, timeout),
		"managers are %s: see whether lnetd runs there, with the group in its section rmcast, and 'lnetctl ping NID'", cli.NIDList(g.cfg.Managers)))
	defer cancel()
	err = group.Ready(ctx)
	refusal := group.Status().Refusal
	switch {
	case errors.Is(err, context.DeadlineExceeded) && refusal != nil:
		return nil, explain(fmt.Errorf("no member of group %s after %v: %w", g.cfg.Name, timeout, refusal))
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, explain(err)
	}
	return group, nil
}

// Close leaves all groups and closes the agent.
func (m *Module) Close(ctx context.Context) error {
	if m.agent == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	var all sync.WaitGroup
	for _, g := range m.groups {
		all.Go(func() { _ = g.leave(ctx) }) // an error means that the node has not joined, or that no manager answers
	}
	all.Wait()
	_ = m.agent.Close(ctx) // an error means that a handler still runs; no handler is called any more
	return nil
}

// Files implements [node.Module].
func (m *Module) Files() *statefiles.Config { return nil }

// Keys returns the keys of the section rmcast.
func (m *Module) Keys() *node.Keys {
	if m.agent == nil || m.cfg.KeyFile == "" {
		return nil
	}
	return &node.Keys{Section: "rmcast", File: m.cfg.KeyFile, Set: m.agent.SetKeys, Count: m.countKeys}
}

func (m *Module) countKeys(k *node.KeysStatus) {
	s := m.agent.KeyStats()
	k.Keys, k.Verified, k.Refused = s.Keys, s.Verified, s.NotSigned
}

// group returns a group by its name. ESRCH: reliable multicast is not enabled; ENOENT: no such
// group.
func (m *Module) group(name string) (*group, error) {
	if m.agent == nil {
		return nil, cli.Hint(cli.Errnof(syscall.ESRCH, "this node takes no part in reliable multicast"),
			"set enable: 1 in the section rmcast of the configuration of lnetd, and start it again")
	}
	for _, g := range m.groups {
		if g.cfg.Name == name {
			return g, nil
		}
	}
	return nil, cli.Hint(cli.Errnof(syscall.ENOENT, "there is no multicast group %s", name), "'scollctl mcast groups' lists them")
}

// explain adds an errno and a hint to an error of scoll/rmcast.
func explain(err error) error {
	wrap := func(errno syscall.Errno, hint string) error { return cli.Hint(cli.Errno(errno, err), "%s", hint) }
	switch {
	case errors.Is(err, rmcast.ErrTooLong):
		return wrap(syscall.EMSGSIZE, "a message fits window × fragment bytes of the group's manager: send it in pieces")
	case errors.Is(err, rmcast.ErrNotMember), errors.Is(err, rmcast.ErrExpelled):
		return wrap(syscall.ESTALE, "members may have it or not; 'scollctl mcast status' shows when this node is a member again")
	case errors.Is(err, rmcast.ErrUnfinished):
		return wrap(syscall.ETIMEDOUT, "the group was left all the same; 'scollctl mcast status' on the managers shows whether they run")
	case errors.Is(err, rmcast.ErrLeft), errors.Is(err, rmcast.ErrClosed):
		return wrap(syscall.ECANCELED, "somebody had this node leave the group, or lnetd is stopping")
	case errors.Is(err, rmcast.ErrQuorum):
		return wrap(syscall.EHOSTUNREACH, "'scollctl mcast status' on the managers lists the members and whom they hear; 'lnetctl ping NID'")
	case errors.Is(err, rmcast.ErrLimits):
		return wrap(syscall.EMSGSIZE, "'lnetctl net show -v' has the MTU; multicast: 0 in the section of the group has none")
	case errors.Is(err, rmcast.ErrStranger):
		return wrap(syscall.EACCES, "'scollctl mcast status' on a manager counts strangers")
	case errors.Is(err, rmcast.ErrVersion):
		return wrap(syscall.EPROTONOSUPPORT, "'lnetd --version' here and on the managers")
	case errors.Is(err, rmcast.ErrNoRoom):
		return wrap(syscall.ENOSPC, "'scollctl mcast status' on a manager lists the members")
	case errors.Is(err, rmcast.ErrAhead):
		return wrap(syscall.EOVERFLOW, "'date' on this node and on the managers")
	case errors.Is(err, rmcast.ErrTaken):
		return wrap(syscall.EALREADY, "'scollctl mcast status' shows how it stands")
	}
	return err
}
