package node

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
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast"
)

// multicaster is what a node has of reliable multicast while it is enabled.
type multicaster struct {
	node   *Node
	cfg    *config.Rmcast
	self   nid.NID
	agent  *rmcast.Agent
	groups []*mcastGroup // in the order of the file
}

// mcastGroup is a group of the configuration.
type mcastGroup struct {
	m   *multicaster
	cfg *config.McastGroup

	changing chan struct{} // a token for who joins or leaves

	mu        sync.Mutex
	group     *rmcast.Group // nil: not joined; guarded by mu, like all below
	faults    rmcast.Faults
	listeners []*mcastListener
}

const (
	// goodbye is how long a node that stops takes leave of its groups.
	goodbye = time.Second
	// joinTimeout is how long operations wait by default until this node is a member.
	joinTimeout = 10 * time.Second
)

// mcastError is what is wrong with a command, as an errno too.
type mcastError struct {
	errno syscall.Errno
	err   error
}

func (e *mcastError) Error() string   { return e.err.Error() }
func (e *mcastError) Unwrap() []error { return []error{e.errno, e.err} }

func mcastFailure(errno syscall.Errno, format string, args ...any) error {
	return &mcastError{errno, fmt.Errorf(format, args...)}
}

// startRmcast begins to take part in multicast groups, and to manage those whose
// managers include this node.
func (n *Node) startRmcast() error {
	cfg := &n.cfg.Rmcast
	if !cfg.Enable {
		return nil
	}
	self, err := n.mcastNID()
	if err != nil {
		return err
	}
	m := &multicaster{node: n, cfg: cfg, self: self}
	m.agent, err = rmcast.New(n.table, rmcast.Config{
		Self: self, View: n.gossip.view, Log: n.cfg.Log, Incarnation: n.lnet.Incarnation(),
		Buffers: cfg.Buffers, Fragment: cfg.Fragment(), Members: cfg.Members, Keys: cfg.Keys,
	})
	if err != nil {
		return err
	}
	n.mcast = m
	for i := range cfg.Groups {
		g := &mcastGroup{m: m, cfg: &cfg.Groups[i], changing: make(chan struct{}, 1)}
		m.groups = append(m.groups, g)
		if err := g.start(); err != nil {
			return fmt.Errorf("multicast group %s: %w", g.cfg.Name, err)
		}
	}
	n.cfg.Log.Info("reliable multicast starts", slog.Any("nid", self), slog.Int("groups", len(m.groups)))
	return nil
}

// mcastNID is the NID under which the node takes part.
func (n *Node) mcastNID() (nid.NID, error) {
	own := n.NIDs()
	if id := n.cfg.Rmcast.NID; id.IsValid() {
		if slices.Contains(own, id) {
			return id, nil
		}
		return id, cli.Hint(mcastFailure(syscall.EINVAL, "nid of rmcast: %v is no NID of this node", id), "this node is %s", nidList(own))
	}
	for _, id := range own {
		if slices.Contains(n.cfg.Gossip.NIDs, id) {
			return id, nil
		}
	}
	if len(own) == 1 {
		return own[0], nil
	}
	return nid.NID{}, cli.Hint(mcastFailure(syscall.EINVAL, "reliable multicast needs one NID of this node, which is %s", nidList(own)),
		"say which with nid in the section rmcast")
}

// admitted are the nodes that may be members besides the managers; nil: all.
func (g *mcastGroup) admitted() []nid.NID { return g.m.node.cfg.McastMembers(g.cfg) }

// warn says what of the list of those that may be members is perhaps not meant.
func (g *mcastGroup) warn() {
	log, list := g.m.node.cfg.Log.With(slog.String("group", g.cfg.Name)), g.admitted()
	switch {
	case list == nil && g.m.cfg.Keys.Len() == 0:
		log.Warn("every node can join this multicast group: list its members, set key_file in the section rmcast, or the nids of gossip")
	case list != nil && !slices.Contains(list, g.m.self) && !slices.Contains(g.cfg.Managers, g.m.self):
		log.Warn("this node is not among the members that the multicast group lists: managers with the same list do not let it in", slog.Any("nid", g.m.self))
	}
}

// start manages a group and joins it, as the configuration says.
func (g *mcastGroup) start() error {
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

// memberTimeout is what the manager has of it: 0 is never.
func (g *mcastGroup) memberTimeout() time.Duration {
	if g.cfg.MemberTimeout == 0 {
		return -1
	}
	return g.cfg.MemberTimeout
}

// join begins to take part. EALREADY: it does.
func (g *mcastGroup) join() error {
	g.mu.Lock()
	faults, joined := g.faults, g.group != nil
	g.mu.Unlock()
	if joined {
		return mcastFailure(syscall.EALREADY, "group %s is joined already", g.cfg.Name)
	}
	group, err := g.m.agent.Join(rmcast.GroupConfig{
		Group: rmcast.GroupID(g.cfg.Number), Managers: g.cfg.Managers, Admit: g.admitted(), FIFO: g.cfg.FIFO,
		Seed: g.m.node.lnet.Incarnation(), Faults: faults,
		Handle: g.heard, OnChange: g.changed, NoMulticast: !g.cfg.Multicast,
	})
	if err != nil {
		return mcastFailed(err)
	}
	g.mu.Lock()
	g.group = group
	g.mu.Unlock()
	return nil
}

// leave ends taking part. ESRCH: it does not.
func (g *mcastGroup) leave(ctx context.Context) error {
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

// change has others wait until it is done.
func (g *mcastGroup) change(ctx context.Context, do func() error) error {
	select {
	case g.changing <- struct{}{}:
		defer func() { <-g.changing }()
		return do()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// joined returns the group. ESRCH: this node has not joined it.
func (g *mcastGroup) joined() (*rmcast.Group, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.group == nil {
		return nil, g.notJoined()
	}
	return g.group, nil
}

func (g *mcastGroup) notJoined() error {
	return cli.Hint(mcastFailure(syscall.ESRCH, "this node takes no part in group %s", g.cfg.Name), "'scollctl mcast join %s' joins it", g.cfg.Name)
}

// ready returns the group when this node is a member. A timeout of 0 is the default.
func (g *mcastGroup) ready(ctx context.Context, timeout time.Duration) (*rmcast.Group, error) {
	group, err := g.joined()
	if err != nil {
		return nil, err
	}
	if timeout <= 0 {
		timeout = joinTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, cli.Hint(
		mcastFailure(syscall.ETIMEDOUT, "no member of group %s after %v: none of its managers answers", g.cfg.Name, timeout),
		"managers are %s: see whether lnetd runs there, with the group in its section rmcast, and 'lnetctl ping NID'", nidList(g.cfg.Managers)))
	defer cancel()
	err = group.Ready(ctx)
	refusal := group.Status().Refusal
	switch {
	case errors.Is(err, context.DeadlineExceeded) && refusal != nil:
		return nil, mcastFailed(fmt.Errorf("no member of group %s after %v: %w", g.cfg.Name, timeout, refusal))
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, mcastFailed(err)
	}
	return group, nil
}

// close leaves all groups and ends. nil is nothing to be closed.
func (m *multicaster) close() {
	if m == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	var all sync.WaitGroup
	for _, g := range m.groups {
		all.Go(func() { _ = g.leave(ctx) }) // not joined, or nobody answers: it ends all the same
	}
	all.Wait()
	_ = m.agent.Close(ctx) // handlers that are late are called no more
}

// mcastGroup returns a group by its name. ESRCH: this node does not take part in
// reliable multicast; ENOENT: there is no such group.
func (n *Node) mcastGroup(name string) (*mcastGroup, error) {
	if n.mcast == nil {
		return nil, cli.Hint(mcastFailure(syscall.ESRCH, "this node takes no part in reliable multicast"),
			"set enable: 1 in the section rmcast of the configuration of lnetd, and start it again")
	}
	for _, g := range n.mcast.groups {
		if g.cfg.Name == name {
			return g, nil
		}
	}
	return nil, cli.Hint(mcastFailure(syscall.ENOENT, "there is no multicast group %s", name), "'scollctl mcast groups' lists them")
}

// mcastFailed adds an errno, and what to do, to an error of package rmcast.
func mcastFailed(err error) error {
	wrap := func(errno syscall.Errno, hint string) error { return cli.Hint(&mcastError{errno, err}, "%s", hint) }
	switch {
	case errors.Is(err, rmcast.ErrTooLong):
		return wrap(syscall.EMSGSIZE, "a message fits window × fragment bytes of the group's manager: send it in pieces")
	case errors.Is(err, rmcast.ErrNotMember), errors.Is(err, rmcast.ErrExpelled):
		return wrap(syscall.ESTALE, "members may have it or not; 'scollctl mcast status' shows when this node is a member again")
	case errors.Is(err, rmcast.ErrUnfinished):
		return wrap(syscall.ETIMEDOUT, "the group was left all the same; 'scollctl mcast status' on the managers shows whether they run")
	case errors.Is(err, rmcast.ErrLeft), errors.Is(err, rmcast.ErrStopped):
		return wrap(syscall.ECANCELED, "somebody had this node leave the group, or lnetd is stopping")
	case errors.Is(err, rmcast.ErrQuorum):
		return wrap(syscall.EHOSTUNREACH, "'scollctl mcast status' on the managers lists the members and whom they hear; 'lnetctl ping NID'")
	case errors.Is(err, rmcast.ErrLimits):
		return wrap(syscall.EMSGSIZE, "'lnetctl net show -v' has the MTU; multicast: 0 in the section of the group has none")
	case errors.Is(err, rmcast.ErrStranger):
		return wrap(syscall.EACCES, "'scollctl mcast status' on a manager counts strangers")
	case errors.Is(err, rmcast.ErrAhead):
		return wrap(syscall.EOVERFLOW, "'date' on this node and on the managers")
	case errors.Is(err, rmcast.ErrTaken):
		return wrap(syscall.EALREADY, "'scollctl mcast status' shows how it stands")
	}
	return err
}
