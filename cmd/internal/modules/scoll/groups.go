package scoll

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// AllGroup is the name of the group of all participants of gossip, unless the configuration
// gives that name to another group.
const AllGroup = "all"

const (
	// maxGroups bounds the groups that commands create.
	maxGroups = 1024
	// listSize is the size in bytes up to which a list of members is sent together with the first
	// broadcast. Longer lists are sent before it.
	listSize = 2048
)

// tag is the tag of a server's entity in a group; each node has one.
var tag = scoll.Entity{'l', 'n', 'e', 't', 'd'}

// groups are the named groups of this node.
type groups struct {
	listSize int // up to this size in bytes, a list is sent with the first broadcast

	making chan struct{} // a lock of capacity 1, held while handles are created or destroyed

	mu        sync.Mutex
	named     map[string]*namedGroup // groups by name; guarded by mu
	handles   map[handleKey]*handle  // handles of the present members; guarded by mu
	rest      []*scoll.Group         // groups to destroy as soon as they are not busy; guarded by mu
	restTimer *time.Timer            // calls endRest; nil: rest is empty, or endRest is running; guarded by mu
}

// namedGroup is a group with a name. It is immutable.
type namedGroup struct {
	name    string
	origin  string // where the group comes from: config, gossip or command
	nids    []nid.NID
	members *scoll.Membership // members of the group, including this node
	tree    scoll.Tree
}

// newGroup returns a group of servers. If this node is not among ids, the group includes it as a
// root that does not itself answer.
func (c *collective) newGroup(name, origin string, ids []nid.NID, tree scoll.Tree) (*namedGroup, error) {
	var targets []scoll.Target
	if !slices.Contains(ids, c.self) {
		targets = append(targets, scoll.Target{NID: c.self})
	}
	for _, id := range ids {
		targets = append(targets, scoll.Target{NID: id, Entities: []scoll.Entity{tag}})
	}
	members, err := scoll.NewMembership(targets)
	if err == nil && members.Len() > c.cfg.MaxMembers {
		err = scoll.EMSGSIZE
	}
	if err != nil {
		return nil, cli.Errnof(syscall.EINVAL, "group %s: %w", name, err)
	}
	return &namedGroup{name, origin, ids, members, cmp.Or(tree, c.cfg.AdminTree())}, nil
}

// configureGroups creates the groups of the configuration.
func (c *collective) configureGroups() error {
	c.groups.named, c.groups.handles, c.groups.listSize = map[string]*namedGroup{}, map[handleKey]*handle{}, listSize
	c.groups.making = make(chan struct{}, 1)
	for _, g := range c.cfg.Groups {
		made, err := c.newGroup(g.Name, "config", g.NIDs, g.Tree)
		if err != nil {
			return err
		}
		c.groups.named[g.Name] = made
	}
	return nil
}

// group returns a group by its name, or ENOENT.
func (c *collective) group(name string) (*namedGroup, error) {
	c.groups.mu.Lock()
	g := c.groups.named[name]
	c.groups.mu.Unlock()
	if g != nil {
		return g, nil
	}
	if name != AllGroup {
		return nil, cli.Hint(cli.Errnof(syscall.ENOENT, "there is no group %s", name), "'scollctl group list' lists them")
	}
	g, err := c.participants()
	if g == nil && err == nil {
		err = cli.Hint(cli.Errnof(syscall.ENOENT, "there is no group all, because gossip does not run"),
			"name the servers in the section scoll of the configuration of lnetd, in a group of that name, or with 'scollctl group create'")
	}
	return g, err
}

// participants returns the group of all participants of gossip, or nil if gossip does not run.
func (c *collective) participants() (*namedGroup, error) {
	list, agent := c.m.gossip.Now()
	if list == nil || agent == nil {
		return nil, nil
	}
	return c.newGroup(AllGroup, "gossip", list.NIDs(), scoll.Tree{})
}

// GroupCreate describes a group to create. The NIDs of its members follow the request.
type GroupCreate struct {
	Name string `json:"name"`           // name of the group; see config.CheckName
	Tree string `json:"tree,omitempty"` // tree of the group's broadcasts; "": that of the section admin
}

// GroupName selects a group.
type GroupName struct {
	Name string `json:"name"` // name of the group
}

// CreateGroup gives a name to a group of servers, until the daemon ends. Errors:
//
//	ESRCH   this node takes no part in collectives
//	EEXIST  there is a group of that name
//	EINVAL  an invalid name, tree or NID
func (m *Module) CreateGroup(r GroupCreate, nids io.Reader) error {
	c, err := m.enabled()
	if err != nil {
		return err
	}
	if err := config.CheckName(r.Name); err != nil {
		return cli.Errno(syscall.EINVAL, err)
	}
	var tree scoll.Tree
	if r.Tree != "" {
		if tree, err = config.ParseTree(r.Tree); err != nil {
			return cli.Errno(syscall.EINVAL, err)
		}
	}
	ids, err := config.ParseNIDs("NIDs", nids)
	if err != nil {
		return cli.Errno(syscall.EINVAL, err)
	}
	g, err := c.newGroup(r.Name, "command", ids, tree)
	if err != nil {
		return err
	}
	if err := c.groups.name(g); err != nil {
		return err
	}
	c.relist()
	return nil
}

// name adds a group that a command has created to the named groups.
func (g *groups) name(made *namedGroup) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.named[made.name] != nil:
		return cli.Hint(cli.Errnof(syscall.EEXIST, "there is a group %s already", made.name), "choose another name, or 'scollctl group destroy' it first")
	case len(g.named) >= maxGroups:
		return cli.Errnof(syscall.ENOSPC, "there are %d groups already", maxGroups)
	}
	g.named[made.name] = made
	return nil
}

// DestroyGroup destroys a group at all members, and removes its name if a command created it.
// Errors:
//
//	ESRCH   this node takes no part in collectives
//	ENOENT  there is no such group
//	EBUSY   broadcasts over it are under way
//	EIO     a member was not reached, and keeps the group until this node dies
func (m *Module) DestroyGroup(ctx context.Context, r GroupName) error {
	c, err := m.enabled()
	if err != nil {
		return err
	}
	g, err := c.group(r.Name)
	if err != nil {
		return err
	}
	if err := c.groups.lock(ctx); err != nil {
		return err
	}
	defer c.groups.unlock()
	var errs []error
	for _, key := range c.groups.keysOf(r.Name) { // after EBUSY, a later call destroys those that are left
		gone, err := c.destroy(ctx, key)
		if !gone {
			return failed(err)
		}
		errs = append(errs, err)
	}
	if g.origin == "command" {
		c.groups.mu.Lock()
		delete(c.groups.named, r.Name)
		c.groups.mu.Unlock()
		c.relist()
	}
	if err := errors.Join(errs...); err != nil {
		return cli.Hint(cli.Errnof(syscall.EIO, "not all members were told: %w", err), "they forget the group when this node ends")
	}
	return nil
}
