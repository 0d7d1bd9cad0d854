package scoll

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"ulnet/cmd/internal/admin"
	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/lnet/nid"
	"ulnet/scoll"
	"ulnet/scoll/tree"
)

// maxLists bounds the attempts to send a long list of members to all members of a group before a
// broadcast.
const maxLists = 4

// target is where a broadcast goes: its members and its tree.
type target struct {
	c       *collective
	group   *namedGroup
	members *scoll.Membership // members of the group, without those that are left out
	tree    scoll.Tree
	lost    map[nid.NID]scoll.Status // members left out because they did not receive the list
	// apart means that the members may disagree about which of them are alive. A broadcast to the
	// live members needs that agreement, so this node alone decides which members to ask.
	apart bool
	// If names is set, dead members do not prevent a broadcast to the others. They are then listed
	// as unreached.
	names bool
	dead  []nid.NID // dead members that were removed from the field members
}

// target returns the target of broadcasts over a group. If live is set, it leaves out dead
// members in the two cases in which package scoll cannot: the members do not agree on which are
// alive, or the list of members is so long that it must be sent before the broadcast.
func (c *collective) target(g *namedGroup, shape string, live bool) (*target, error) {
	b := &target{c: c, group: g, members: g.members, tree: g.tree, lost: map[nid.NID]scoll.Status{}}
	if shape != "" {
		var err error
		if b.tree, err = config.ParseTree(shape); err != nil {
			return nil, cli.Errno(syscall.EINVAL, err)
		}
	}
	if live {
		return b, b.toLiving()
	}
	return b, nil
}

// toLiving leaves out dead members in the two cases in which package scoll cannot, see the method target.
func (b *target) toLiving() error {
	b.apart = !b.c.isWatched(b.group)
	if !b.apart && b.members.Size() <= b.c.groups.listSize {
		return nil
	}
	return b.without(func(id nid.NID) bool {
		if b.c.isAlive(id) {
			return false
		}
		b.dead = append(b.dead, id)
		return true
	})
}

// isWatched reports whether all members of a group take part in gossip, and so agree on which
// of them are alive.
func (c *collective) isWatched(g *namedGroup) bool {
	_, agent := c.m.gossip.Now()
	return agent != nil && !slices.ContainsFunc(g.nids, func(id nid.NID) bool {
		_, participant := agent.Explain(id)
		return !participant
	})
}

// without removes the members for which out returns true from the target, but never this node.
func (b *target) without(out func(nid.NID) bool) error {
	var rest []nid.NID
	for _, id := range b.group.nids {
		if b.members.Rank(id) >= 0 && (id == b.c.self || !out(id)) {
			rest = append(rest, id)
		}
	}
	part, err := b.c.newGroup(b.group.name, b.group.origin, rest, b.tree)
	if err == nil {
		b.members = part.members
	}
	return err
}

// ask sends an order. If the order cannot be sent because of dead members, and b.names is set,
// ask sets o.Live and sends the order to the others.
func (b *target) ask(ctx context.Context, o *admin.Order) (*admin.Outcome, error) {
	outcome, err := b.outcome(ctx, *o)
	if !namesDead(err) || !b.names {
		return outcome, err
	}
	o.Live = true
	if err := b.toLiving(); err != nil {
		return nil, err
	}
	return b.outcome(ctx, *o)
}

// outcome broadcasts an order and returns the outcome.
func (b *target) outcome(ctx context.Context, o admin.Order) (*admin.Outcome, error) {
	h, err := b.handle(ctx)
	if err != nil {
		return nil, b.deadError(err)
	}
	defer b.c.groups.release(h)
	o.Live = o.Live && !b.apart
	outcome, err := b.c.admin.Broadcast(ctx, h.group, o)
	err = b.deadError(err)
	if room, rerr := admin.Room(h.group, o.Action); errors.Is(err, admin.ErrOrder) && rerr == nil {
		err = cli.Hint(cli.Errnof(syscall.EMSGSIZE, "a text of %d bytes is too long for a message: want up to %d", len(o.Text), room),
			"more can be sent as bulk data, see 'scollctl bcast --help'")
	}
	return outcome, err
}

// handle returns the handle for broadcasts. If the list of members is long, handle first sends
// it to all members, and leaves out members that do not receive it. The others are asked all the
// same, as if the broadcast itself carried the list.
func (b *target) handle(ctx context.Context) (*handle, error) {
	for last := 1; ; last++ {
		h, err := b.c.handle(ctx, b.group, b.members, b.tree)
		failed, ok := errors.AsType[*scoll.Error](err)
		if !ok || len(failed.Unreached) == 0 || last > maxLists {
			return h, err
		}
		if err := b.leaveOut(failed.Unreached, last == maxLists); err != nil {
			return nil, err
		}
	}
}

// leaveOut leaves out members that were not reached. Normally it leaves out only the topmost
// member of each lost subtree, since the list was not yet sent to those below. If all is set, it
// leaves out every unreached member.
func (b *target) leaveOut(unreached []scoll.Unreached, all bool) error {
	why := map[nid.NID]scoll.Status{}
	for _, u := range unreached {
		why[u.NID] = u.Status
	}
	above := parents(b.members, b.tree, b.c.self)
	return b.without(func(id nid.NID) bool {
		status, missing := why[id]
		if _, below := why[above(id)]; !missing || below && !all {
			return false
		}
		b.lost[id] = status
		return true
	})
}

// parents returns a function that returns the parent of a member in a tree from root, and the
// zero NID for the root and for other nodes.
func parents(members *scoll.Membership, shape scoll.Tree, root nid.NID) func(nid.NID) nid.NID {
	topology, ok := shape.Topology()
	from := members.Rank(root)
	if !ok || from < 0 {
		return func(nid.NID) nid.NID { return nid.NID{} }
	}
	t := tree.Tree{Topology: topology, N: members.Len(), Root: from}
	return func(id nid.NID) nid.NID {
		if rank := members.Rank(id); rank >= 0 {
			if parent, ok := t.Parent(rank); ok {
				return members.NID(parent)
			}
		}
		return nid.NID{}
	}
}

// reasons returns a function that tells why a member's answer did not arrive: what the member's status means.
// If nodes above the member in the tree have the same status, the text also names the topmost of these,
// because the member was probably lost with it. If live is set, the function ignores the tree, which has only
// the live members and may have changed.
func (b *target) reasons(unreached []scoll.Unreached, live bool) func(scoll.Unreached) string {
	why := map[nid.NID]scoll.Status{}
	above := func(nid.NID) nid.NID { return nid.NID{} }
	if !live {
		above = parents(b.members, b.tree, b.c.self)
	}
	for _, u := range unreached {
		why[u.NID] = u.Status
	}
	return func(u scoll.Unreached) string {
		top := u.NID
		for why[above(top)] == u.Status {
			top = above(top)
		}
		if top == u.NID {
			return unreachedText(u.Status)
		}
		return fmt.Sprintf("below %v: %s", top, unreachedText(u.Status))
	}
}

// deadError adds the dead members to an error that does not name them: package scoll returns a
// plain EHOSTDOWN if a member dies while a request is being prepared.
func (b *target) deadError(err error) error {
	if namesDead(err) || !errors.Is(err, scoll.EHOSTDOWN) {
		return err
	}
	var dead []nid.NID
	for _, id := range b.group.nids {
		if id != b.c.self && !b.c.isAlive(id) {
			dead = append(dead, id)
		}
	}
	if len(dead) == 0 {
		return err
	}
	return &scoll.Error{Why: fmt.Sprintf("dead members: %v", dead), Status: scoll.EHOSTDOWN, Dead: dead}
}

// namesDead reports whether an error names the dead members.
func namesDead(err error) bool {
	e, ok := errors.AsType[*scoll.Error](err)
	return ok && len(e.Dead) > 0
}
