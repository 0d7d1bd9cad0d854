package rmcast

import (
	"context"
	"fmt"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/engine"
)

// Members returns the members of the newest list that this node has, in the order of their
// numbers. The errors are
//
//	ErrNotYet     this node waits to become one: there is no list before Ready returns
//	ErrNotMember  this node is none of them: there is no list
//	ErrQuorum     beside a list: no manager hears most of them. The group has split, or most
//	              are down; messages wait, and nobody joins
func (g *Group) Members() (list []Member, err error) {
	g.runner.Inspect(func() { list, err = g.m.Members() })
	return list, err
}

// late is the error of a context that has ended, with what kept the group from going on, as
// far as a manager said so.
func (g *Group) late(ctx context.Context) (err error) {
	g.runner.Inspect(func() { err = g.m.Unheard(ctx.Err()) })
	return err
}

// ErrNotManager says that another node manages a group.
type ErrNotManager struct {
	Group   GroupID
	Manager nid.NID // zero: this node is none of its managers
}

func (e *ErrNotManager) Error() string {
	if !e.Manager.IsValid() {
		return fmt.Sprintf("rmcast: this node is no manager of group %d", e.Group)
	}
	return fmt.Sprintf("rmcast: group %d is managed by %v", e.Group, e.Manager)
}

// Expel says that the members on a node have ended, which only who knows it should say: those
// who wait for them go on, and they do not count any more when a manager is elected. A node
// that lives joins again as another member. This node has to manage the group, or be one of
// its managers while it has none: all that may be elected are to be told then. The error is
// an *ErrNotManager.
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
