package rmcast

import (
	"context"
	"fmt"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/engine"
)

// Members returns the members on the newest list that this node has, in the order of their
// numbers. Errors:
//
//	ErrNotYet     this node waits to become a member: no list before Ready returns
//	ErrNotMember  this node is not a member: no list
//	ErrQuorum     with a list: no manager hears more than half of the members. The group is
//	              split, or too many members are down; messages wait, and nodes cannot join
func (g *Group) Members() (list []Member, err error) {
	g.runner.Inspect(func() { list, err = g.m.Members() })
	return list, err
}

// late returns the error of a context that has ended, with the reason why the group makes no
// progress, if it is known.
func (g *Group) late(ctx context.Context) (err error) {
	g.runner.Inspect(func() { err = g.m.Unheard(ctx.Err()) })
	return err
}

// ErrNotManager says that this node does not manage the group.
type ErrNotManager struct {
	Group   GroupID // number of the group
	Manager nid.NID // the active manager; zero: this node may not manage the group
}

func (e *ErrNotManager) Error() string {
	if !e.Manager.IsValid() {
		return fmt.Sprintf("rmcast: this node is no manager of group %d", e.Group)
	}
	return fmt.Sprintf("rmcast: group %d is managed by %v", e.Group, e.Manager)
}

// Expel declares that the members on a node have ended. Only call it if that is certain:
// messages stop waiting for these members, and they do not count in elections of a manager. A
// node that is alive joins again as a new member. This node must be the group's active manager,
// or one of its managers if none is active; in that case call Expel on all managers. Otherwise
// the error is an *ErrNotManager.
func (a *Agent) Expel(group GroupID, id nid.NID) error {
	m := (*a.manages.Load())[group]
	if m == nil {
		return &ErrNotManager{Group: group}
	}
	var s Managing
	m.runner.Inspect(func() { s = m.g.Status() })
	if !s.Active && s.Manager.IsValid() && !s.Alone {
		return &ErrNotManager{group, s.Manager}
	}
	m.runner.Do(engine.Input{Kind: engine.Expel, From: id})
	return nil
}
