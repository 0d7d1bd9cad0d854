// Package scoll is the module of collectives: named groups, and the administration service
// over them.
package scoll

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ulnet/cmd/internal/admin"
	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/deadline"
	"ulnet/cmd/internal/node"
	"ulnet/cmd/internal/program"
	"ulnet/cmd/internal/statefiles"
	"ulnet/gossip"
	"ulnet/gossip/engine"
	"ulnet/lnet/nid"
	"ulnet/scoll"
	"ulnet/scoll/rmcast"
)

// Gossip is the interface to the module of gossip.
type Gossip interface {
	Now() (participants *engine.List, agent *gossip.Agent) // the list is nil before init; the agent is nil unless gossip runs
	View() scoll.View                                      // which nodes are alive; usable while gossip does not run
	OnChange(func())                                       // calls a function when the participants change
}

// Carrier is the interface to the module of reliable multicast, for bulk data.
type Carrier interface {
	HearFirst(func(group string, m *rmcast.Message) bool)
	Carry(ctx context.Context, group string, wait time.Duration, cut func(size int) iter.Seq[[]byte]) error
}

// Module is the module of collectives of a node.
type Module struct {
	node.Host
	gossip  Gossip
	mcast   Carrier
	mayAsk  func(root, parent nid.NID) bool
	clients func(query []byte, room int) ([]byte, scoll.Status)
	running atomic.Pointer[collective] // the open module; nil: not open. Multicast and gossip open before this module, and their callbacks read this
}

// New returns the module of a node.
func New(host node.Host, g Gossip, c Carrier) *Module {
	m := &Module{Host: host, gossip: g, mcast: c}
	m.AnswerClients(func(nid.NID, nid.NID) bool { return true }, func([]byte, int) ([]byte, scoll.Status) { return nil, scoll.EAGAIN })
	g.OnChange(func() {
		if c := m.running.Load(); c != nil {
			c.relist()
			c.agent.SetPropagation(m.propagation())
		}
	})
	c.HearFirst(func(group string, msg *rmcast.Message) bool {
		c := m.running.Load()
		return c != nil && c.cfg.Admin.Multicast == group && c.heardBulk(msg)
	})
	return m
}

// Routes are the operations of collectives.
func (m *Module) Routes() []control.Route {
	return []control.Route{
		OpStatus.Do(control.Ask(m.Status)), OpBroadcast.DoWith(m.Broadcast), OpBench.Do(m.Bench),
		OpGroupCreate.DoWith(control.With(m.CreateGroup)), OpGroupDestroy.Do(m.DestroyGroup),
	}
}

// AnswerClients registers two functions of client health: may reports whether a root may ask for a page of clients by
// the given parent, and answer answers such a question, with at most room bytes. It must be called before Open.
func (m *Module) AnswerClients(may func(root, parent nid.NID) bool, answer func(query []byte, room int) ([]byte, scoll.Status)) {
	m.mayAsk, m.clients = may, answer
}

// Agent returns the agent, so that other modules can add services; nil: collectives are not
// enabled.
func (m *Module) Agent() *scoll.Agent {
	if c := m.running.Load(); c != nil {
		return c.agent
	}
	return nil
}

// collective is the state of a module that is open.
type collective struct {
	m       *Module
	cfg     config.Scoll
	self    nid.NID
	agent   *scoll.Agent
	admin   *admin.Service
	workers sync.WaitGroup
	end     context.CancelFunc // ends the greeting of members

	groups groups
	log    broadcasts
	listed atomic.Pointer[list] // the listed nodes, which are no strangers; nil: no node is a stranger

	relisting sync.Mutex // held while the list is made; locked before any other mutex

	carried *admin.Carried
}

// newsCycles is how many cycles of gossip pass between the first and the last node that detects
// a death. Each node counts cycles by itself, so their counts differ a little.
const newsCycles = 5

// propagation returns how long gossip takes to tell all nodes of a death. While it does not run, all
// nodes count as alive, and there are no deaths to tell.
func (m *Module) propagation() time.Duration {
	interval := m.Config.Gossip.Interval
	if _, agent := m.gossip.Now(); agent != nil {
		interval = agent.Status().Interval
	}
	return max(time.Second, newsCycles*interval)
}

// Open makes the node take part in collectives, if the configuration enables them.
func (m *Module) Open() error {
	if !m.Config.Scoll.Enable {
		return nil
	}
	c := &collective{m: m, cfg: m.Config.Scoll}
	c.carried = admin.NewCarried(c.cfg.Admin.MaxBulk, c.cfg.Admin.MaxMemory)
	var err error
	if c.self, err = m.Self("scoll", "collectives need", m.Config.Scoll.NID); err != nil {
		return err
	}
	if err := c.configureGroups(); err != nil {
		return err
	}
	adminConfig, err := c.adminConfig()
	if err != nil {
		return err
	}
	cfg := c.cfg.Agent()
	cfg.View, cfg.Log, cfg.Worker, cfg.Wall, cfg.Keys = m.gossip.View(), m.Log, c.workers.Go, time.Now, c.cfg.Keys
	cfg.Self, cfg.Incarnation = c.self, m.Incarnation()
	cfg.Propagation = m.propagation()
	if c.agent, err = scoll.New(m.Table, cfg); err != nil {
		return err
	}
	c.admin = admin.New(adminConfig)
	ctx, cancel := context.WithCancel(context.Background())
	c.end = cancel
	m.running.Store(c) // from here on, Close ends what Open has begun, even if the rest of Open fails
	c.relist()
	c.warn()
	m.Log.Info("collectives start", slog.Any("nid", c.self), slog.Int("actions", len(c.cfg.Admin.Actions)))
	if err := c.admin.Register(c.agent); err != nil {
		return err
	}
	if _, agent := m.gossip.Now(); agent == nil {
		c.workers.Go(func() { c.greet(ctx) })
	}
	return nil
}

func (c *collective) adminConfig() (admin.Config, error) {
	a := c.cfg.Admin
	actions := map[string]admin.Action{}
	for _, act := range a.Actions {
		user, err := program.UserOf("action "+act.Name, act.User)
		if err != nil {
			return admin.Config{}, err
		}
		actions[act.Name] = admin.Action{Run: act.Run, Timeout: act.Timeout, User: user}
	}
	return admin.Config{
		Distrust: c.distrust, IsStranger: c.isStranger,
		Version: "ulnet " + cli.Version(), Digest: digestOf(*c.m.Config), Actions: actions, MayAct: c.mayAct,
		MaxBulk: a.MaxBulk, MaxMemory: a.MaxMemory, MaxActions: a.MaxActions, Output: a.Output, Carried: c.carried.Take, MayAsk: c.m.mayAsk, Clients: c.m.clients,
		Dir: c.m.Config.RuntimeDir, Log: c.m.Log, Worker: c.workers.Go,
	}, nil
}

// participantNIDs returns the participants of gossip: those of the last init or change of their list,
// which may have replaced those of the configuration.
func (m *Module) participantNIDs() []nid.NID {
	if list, _ := m.gossip.Now(); list != nil {
		return list.NIDs()
	}
	return m.Config.Gossip.NIDs
}

// mayAct reports whether a root may run actions here if the given parent has forwarded its
// request. The root must be allowed, and so must the parent, unless it is the root itself.
func (c *collective) mayAct(root, parent nid.NID) bool {
	has := func(sets []nid.Set, id nid.NID) bool {
		return slices.ContainsFunc(sets, func(s nid.Set) bool { return s.Has(id) })
	}
	a := c.cfg.Admin
	switch {
	case !has(a.AllowRoots, root):
		return false
	case parent == root || has(a.AllowRoots, parent):
		return true
	case len(a.AllowRelays) > 0:
		return has(a.AllowRelays, parent)
	}
	return slices.Contains(c.m.participantNIDs(), parent) ||
		slices.ContainsFunc(c.cfg.Groups, func(g config.Group) bool { return slices.Contains(g.NIDs, parent) })
}

// Close ends the node's part in collectives. An error means that a callback or a worker had not
// returned when ctx ended.
func (m *Module) Close(ctx context.Context) error {
	c := m.running.Load()
	if c == nil {
		return nil
	}
	c.end()
	_ = within(ctx, c.admin.Close) // an error is ignored, since the last line waits for the workers as well
	return errors.Join(c.agent.Close(ctx), within(ctx, c.workers.Wait))
}

// within calls wait, and returns when wait returns or ctx ends.
func within(ctx context.Context, wait func()) error {
	if err := deadline.Wait(ctx, wait); err != nil {
		return fmt.Errorf("collectives: closed, but a worker has not ended: %w", err)
	}
	return nil
}

// Files implements [node.Module].
func (m *Module) Files() *statefiles.Config { return nil }

// Keys returns the keys of the section scoll.
func (m *Module) Keys() *node.Keys {
	c := m.running.Load()
	if c == nil || c.cfg.KeyFile == "" {
		return nil
	}
	return &node.Keys{Section: "scoll", File: c.cfg.KeyFile, Set: c.agent.SetKeys, Count: c.countKeys}
}

func (c *collective) countKeys(k *node.KeysStatus) {
	s := c.agent.KeyStats()
	k.Keys, k.Verified, k.Refused = s.Keys, s.Verified, s.NotSigned
}

// enabled returns the state of the module, or ESRCH if it is not open.
func (m *Module) enabled() (*collective, error) {
	c := m.running.Load()
	if c == nil {
		return nil, cli.Hint(cli.Errnof(syscall.ESRCH, "this node takes no part in collectives"),
			"set enable: 1 in the section scoll of the configuration of lnetd, and start it again")
	}
	return c, nil
}

// failed adds an errno and a hint to an error of package scoll or admin.
func failed(err error) error {
	var status scoll.Status
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, admin.ErrClosed):
		return cli.Hint(&givenUp{err}, "members may have done what they were asked for")
	case !errors.As(err, &status):
		return err
	}
	errno := syscall.EIO
	switch {
	case status < 1000:
		errno = syscall.Errno(status)
	case errors.Is(status, scoll.EBUSY):
		errno = syscall.EBUSY
	case errors.Is(status, scoll.EMSGSIZE):
		errno = syscall.EMSGSIZE
	}
	return cli.Hint(cli.Errno(errno, err), "%s", cmp.Or(hints[status], "'scollctl stats' counts what was refused here"))
}

var hints = map[scoll.Status]string{
	scoll.EBUSY:       "wait until other broadcasts are over: 'scollctl watch' shows them",
	scoll.EINVAL:      "the time-outs of all levels of the tree must be within max_timeout of the section scoll",
	scoll.EHOSTDOWN:   "a member is dead: 'gossipctl status' shows which; --live leaves the dead out",
	scoll.ESTALE:      "other members are alive than a moment ago: try again",
	scoll.EMSGSIZE:    "the group or its answers are too large: see max_members and output in the section scoll",
	scoll.EMAXMEMBERS: "the group is too large: raise max_members in the section scoll",
	scoll.ETIMEDOUT:   "a member did not answer; 'scollctl ping' says which",
}
