package node

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ulnet/cmd/internal/admin"
	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
	"ulnet/scoll"
)

// collective is what a node has of collectives while they are enabled.
type collective struct {
	node    *Node
	cfg     config.Scoll
	self    nid.NID
	agent   *scoll.Agent
	admin   *admin.Service
	workers sync.WaitGroup
	end     context.CancelFunc // of greeting

	groups groups
	log    broadcasts
	listed atomic.Pointer[list] // who is no stranger; nil: everybody

	relisting sync.Mutex // held while the list is made; taken before all others

	carried *admin.Carried
}

// newsCycles is how many cycles of gossip pass until all have noticed a death that
// one has: each counts for himself, to within a few cycles.
const newsCycles = 5

// scollError is what is wrong with a command, as an errno too.
type scollError struct {
	errno syscall.Errno
	err   error
}

func (e *scollError) Error() string   { return e.err.Error() }
func (e *scollError) Unwrap() []error { return []error{e.errno, e.err} }

func scollFailure(errno syscall.Errno, format string, args ...any) error {
	return &scollError{errno, fmt.Errorf(format, args...)}
}

// startScoll begins to take part in collectives, if the configuration says so.
func (n *Node) startScoll() error {
	if !n.cfg.Scoll.Enable {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &collective{node: n, cfg: n.cfg.Scoll, end: cancel}
	c.carried = admin.NewCarried(c.cfg.Admin.MaxBulk, c.cfg.Admin.MaxMemory)
	var err error
	if c.self, err = n.scollNID(); err != nil {
		return err
	}
	if err := c.configureGroups(); err != nil {
		return err
	}
	adminConfig, err := c.adminConfig()
	if err != nil {
		return err
	}
	c.admin = admin.New(adminConfig)
	cfg := scoll.AgentConfig{Config: c.cfg.Machine(), View: n.gossip.view, Log: n.cfg.Log, Worker: c.workers.Go, Wall: time.Now, Keys: c.cfg.Keys}
	cfg.Self, cfg.Incarnation = c.self, n.lnet.Incarnation()
	cfg.Propagation = max(time.Second, newsCycles*n.cfg.Gossip.Interval)
	if c.agent, err = scoll.Start(n.table, cfg); err != nil {
		return err
	}
	n.scoll = c
	c.relist()
	c.warn()
	n.cfg.Log.Info("collectives start", slog.Any("nid", c.self), slog.Int("actions", len(c.cfg.Admin.Actions)))
	if err := c.admin.Register(c.agent); err != nil {
		return err
	}
	if _, agent := n.gossip.now(); agent == nil {
		c.workers.Go(func() { c.greet(ctx) })
	}
	return nil
}

// scollNID is the NID under which the node takes part.
func (n *Node) scollNID() (nid.NID, error) {
	own := n.NIDs()
	if id := n.cfg.Scoll.NID; id.IsValid() {
		if slices.Contains(own, id) {
			return id, nil
		}
		return id, cli.Hint(scollFailure(syscall.EINVAL, "nid of scoll: %v is no NID of this node", id), "this node is %s", nidList(own))
	}
	for _, id := range own {
		if slices.Contains(n.cfg.Gossip.NIDs, id) {
			return id, nil
		}
	}
	if len(own) == 1 {
		return own[0], nil
	}
	return nid.NID{}, cli.Hint(scollFailure(syscall.EINVAL, "collectives need one NID of this node, which is %s", nidList(own)),
		"say which with nid in the section scoll")
}

func (c *collective) adminConfig() (admin.Config, error) {
	a := c.cfg.Admin
	actions := map[string]admin.Action{}
	for _, act := range a.Actions {
		user, err := userOf("action "+act.Name, act.User)
		if err != nil {
			return admin.Config{}, err
		}
		actions[act.Name] = admin.Action{Run: act.Run, Timeout: act.Timeout, User: user}
	}
	return admin.Config{
		Distrust: c.distrust, IsStranger: c.isStranger,
		Version: "ulnet " + cli.Version(), Digest: digestOf(c.node.cfg.Config), Actions: actions, MayAct: c.mayAct,
		MaxBulk: a.MaxBulk, MaxMemory: a.MaxMemory, MaxActions: a.MaxActions, Output: a.Output, Carried: c.carried.Take, Clients: c.node.answerClients,
		Dir: c.node.cfg.RuntimeDir, Log: c.node.cfg.Log, Worker: c.workers.Go,
	}, nil
}

// mayAct says whether a root may run actions here when its request comes through
// a parent: the root is listed, and so is the parent, unless it is the root.
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
	return slices.Contains(c.node.cfg.Gossip.NIDs, parent) ||
		slices.ContainsFunc(c.cfg.Groups, func(g config.Group) bool { return slices.Contains(g.NIDs, parent) })
}

// digestOf is a digest of what should be the same on all servers: all but the
// names of a node and its places.
func digestOf(c config.Config) [32]byte {
	c.Networks, c.Socket, c.StateDir, c.RuntimeDir, c.Capture, c.FaultSeed = "", "", "", "", "", 0
	c.Handlers = nil
	c.CaptureSize, c.CaptureTime, c.CaptureFiles = 0, 0, 0
	c.Gossip.NIDsAt, c.Gossip.NIDsFile, c.Gossip.Seed = config.Place{}, "", 0
	c.Gossip.KeyFile, c.Gossip.Keys = "", keyring.Keys{}
	c.Scoll.NID, c.Scoll.KeyFile, c.Scoll.Keys = nid.NID{}, "", keyring.Keys{}
	c.Health.NID, c.Health.At = nid.NID{}, config.Place{}
	c.Health.Name, c.Health.Attach, c.Health.AttachAll = "", nil, false
	c.Health.KeyFile, c.Health.Keys = "", keyring.Keys{}
	c.Health.ClaimFile, c.Health.ClaimKeys = "", keyring.Keys{} // a digest of short keys could be guessed
	c.Rmcast.NID, c.Rmcast.KeyFile, c.Rmcast.Keys = nid.NID{}, "", keyring.Keys{}
	z := &c.Zone
	z.Name, z.At, z.Node, z.NIDs, z.Bootstrap = "", config.Place{}, "", nil, nil
	z.Supervisor, z.Management, z.Monitor, z.KeyFile, z.Keys = false, nil, false, "", keyring.Keys{}
	return sha256.Sum256(fmt.Appendf(nil, "%+v", c))
}

// close ends taking part.
func (c *collective) close() {
	c.end()
	c.admin.Close()
	c.agent.Stop()
	c.workers.Wait()
}

// collective returns what there is of collectives, or ESRCH.
func (n *Node) collective() (*collective, error) {
	if n.scoll == nil {
		return nil, cli.Hint(scollFailure(syscall.ESRCH, "this node takes no part in collectives"),
			"set enable: 1 in the section scoll of the configuration of lnetd, and start it again")
	}
	return n.scoll, nil
}

// failed adds what to do to an error of package scoll or admin.
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
	return cli.Hint(&scollError{errno, err}, "%s", cmp.Or(hints[status], "'scollctl stats' counts what was refused here"))
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
