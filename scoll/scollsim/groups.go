package scollsim

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/simlnd"
	"ulnet/scoll"
)

// namedGroup is a group by its name in the scenario.
type namedGroup struct {
	name    string
	oob     bool
	members *scoll.Membership
	id      scoll.GroupID // zero until the group is created; of an out-of-band group Index is its number
	made    bool
	creator sim.NodeID    // the node that created the group, unless it is out-of-band
	deaths  uint64        // how often the creator had died when it created the group
	ending  bool          // the group is being destroyed, or was
	ended   bool          // the group was destroyed at all members
	failed  scoll.Status  // status of the group's creation or destruction
	changed time.Duration // when the list of an out-of-band group changed last
}

// created is called when a group was created, or destroyed.
func (g *namedGroup) created(id scoll.GroupID, s scoll.Status) {
	g.made, g.ended, g.failed = s == scoll.OK && !g.ending, s == scoll.OK && g.ending, s
	if !g.ending && id.Creator.IsValid() {
		g.id = id
	}
}

// refused is called when a group cannot be destroyed: "refused with EBUSY while broadcasts over the group are under
// way" (docs/collectives.md), or because the node has no such group.
func (g *namedGroup) refused() { g.ending = false }

// destroyed is called with the result of Group.Destroy.
func (g *namedGroup) destroyed(s scoll.Status) {
	if s == scoll.EBUSY {
		g.refused()
		return
	}
	g.created(g.id, s)
}

// groups has the groups of a run.
type groups struct {
	nodes       int
	byName      map[string]*namedGroup
	list        []*namedGroup
	memberships map[string]*scoll.Membership
}

// endedGroup reports whether a group may have ended at a node, because it was destroyed, or because the creator has
// died: "members also end a group when discovery reports that its creator died or restarted" (docs/collectives.md).
// Without discovery only the creator itself knows. "If the creator is alive after all, the group comes back".
func (n *Net) endedGroup(b *Broadcast, at sim.NodeID) bool {
	g := n.groups.byName[b.Group]
	switch {
	case g == nil || g.ending:
		return true
	case g.oob:
		return false
	case n.oracle.deaths[g.creator] == g.deaths:
		return n.oracle.errs.heldDead(at, g.creator, b.Begun)
	}
	return n.oracle.on() || at == g.creator
}

// relisted reports whether the list of a broadcast's group has changed since the broadcast began.
func (n *Net) relisted(b *Broadcast) bool {
	g := n.groups.byName[b.Group]
	return g != nil && g.oob && g.changed >= b.Begun
}

// maxRegular bounds the members of regular groups. Every member of such a group has a list of
// all members in its memory.
const maxRegular = 4096

// add adds the group of the verb "create NAME KIND [NODES]", and replaces one of that name.
func (g *groups) add(args scenario.Args) (*namedGroup, error) {
	name, kind := args.Word(0), args.Word(1)
	members, err := g.membership(cmp.Or(args.Word(2), "all"))
	if err != nil {
		return nil, err
	}
	if members.Len() > maxRegular && kind != kindOOB {
		return nil, fmt.Errorf("scollsim: group %s has %d members, each of which keeps a list of all: want %d at most, or kind oob", name, members.Len(), maxRegular)
	}
	k := &namedGroup{name: name, oob: kind == kindOOB, members: members, changed: never}
	if k.oob {
		k.id, k.made = scoll.GroupID{Index: uint64(len(g.list))}, true
	}
	g.byName[name] = k
	g.list = append(g.list, k)
	return k, nil
}

// relist changes the list of an out-of-band group: all nodes map the group to it from now on.
func (g *groups) relist(k *namedGroup, nodes string, now time.Duration) error {
	members, err := g.membership(nodes)
	if err == nil && members != k.members {
		k.members, k.changed = members, now
	}
	return err
}

// membership returns the membership of some nodes in the order of their numbers, from a cache.
func (g *groups) membership(text string) (*scoll.Membership, error) {
	if m := g.memberships[text]; m != nil {
		return m, nil
	}
	set, err := sim.ParseNodes(text, g.nodes)
	if err != nil {
		return nil, err
	}
	var targets []scoll.Target
	for id := range set.All(g.nodes) {
		targets = append(targets, scoll.Target{NID: simlnd.NID(id), Entities: []scoll.Entity{{byte(id), byte(id >> 8), byte(id >> 16), 1}}})
	}
	m, err := scoll.NewMembership(targets)
	if err == nil {
		g.memberships[text] = m
	}
	return m, err
}

// mapped returns the membership of an out-of-band group.
func (g *groups) mapped(number uint64) (*scoll.Membership, error) {
	if number >= uint64(len(g.list)) || !g.list[number].oob {
		return nil, errors.New("scollsim: no such group")
	}
	return g.list[number].members, nil
}

// nodesOf lists the members of a group by number, which is the order of their
// ranks.
func nodesOf(m *scoll.Membership) []sim.NodeID {
	list := make([]sim.NodeID, m.Len())
	for rank := range list {
		list[rank] = kit.NodeOf(m.NID(rank))
	}
	return list
}
