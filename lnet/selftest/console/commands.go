package console

import (
	"context"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console/engine"
)

// NewSession makes the session of the console. With Force it first ends an earlier session, whose
// nodes are asked to leave; otherwise it sends nothing. Errors: EOPNOTSUPP if there is a session of
// the same key, EEXIST if there is one of another key, EINVAL for an invalid name, time-out or
// features, EADDRNOTAVAIL if the node has no NID with an IPv4 address.
func (c *Console) NewSession(ctx context.Context, n NewSession) (Session, error) {
	r, err := c.run(ctx, &n)
	return r.Session, err
}

// Session returns the session. ESRCH: there is none.
func (c *Console) Session() (s Session, err error) {
	c.look(func() { s, err = c.console.Session() })
	return s, err
}

// EndSession ends the session: all its nodes leave it, which ends their tests. Errors: ESRCH,
// EACCES. If ctx ends first, the session ends all the same; nodes without an answer may still have it.
func (c *Console) EndSession(ctx context.Context, key uint32) ([]Answer, error) {
	r, err := c.run(ctx, &engine.EndSession{Key: key})
	return r.Answers, err
}

// AddGroup makes a group and adds nodes to it, as AddNodes does. The group stays if no node can
// be added. Errors: those of AddNodes, and EEXIST if there is a group of this name.
func (c *Console) AddGroup(ctx context.Context, key uint32, name string, ids []nid.ProcessID) ([]Answer, error) {
	r, err := c.run(ctx, &engine.AddGroup{Key: key, Name: name, IDs: ids})
	return r.Answers, err
}

// AddNodes adds nodes to a group. It asks those that are not active to join the session, and returns their answers;
// they are in the group whatever they answer. Errors: ESRCH if there is no session, EACCES if key is not the key of
// the session, ENOENT if there is no such group, EBUSY if a test or another command uses the group, EINVAL for an id
// that names no node, EAFNOSUPPORT for an IPv6 NID, ENOSPC if there are too many nodes.
func (c *Console) AddNodes(ctx context.Context, key uint32, name string, ids []nid.ProcessID) ([]Answer, error) {
	r, err := c.run(ctx, &engine.AddNodes{Key: key, Group: name, IDs: ids})
	return r.Answers, err
}

// DeleteGroup deletes a group. Some of its nodes are asked to leave the session: those that may have it, and
// are in no other group and no batch. DeleteGroup returns their answers. Errors: ESRCH, EACCES, ENOENT,
// EBUSY.
func (c *Console) DeleteGroup(ctx context.Context, key uint32, name string) ([]Answer, error) {
	r, err := c.run(ctx, &engine.DeleteGroup{Key: key, Group: name})
	return r.Answers, err
}

// RemoveNodes takes nodes out of a group, which is deleted if none is left. Nodes leave the session
// as in DeleteGroup. Errors: ESRCH, EACCES, ENOENT, EBUSY.
func (c *Console) RemoveNodes(ctx context.Context, key uint32, name string, ids []nid.ProcessID) ([]Answer, error) {
	r, err := c.run(ctx, &engine.RemoveNodes{Key: key, Group: name, IDs: ids})
	return r.Answers, err
}

// CleanGroup takes the nodes in some states out of a group, as RemoveNodes does.
func (c *Console) CleanGroup(ctx context.Context, key uint32, name string, states []State) ([]Answer, error) {
	r, err := c.run(ctx, &engine.CleanGroup{Key: key, Group: name, States: states})
	return r.Answers, err
}

// RefreshGroup asks the nodes of a group that are not active to join the session, and returns their
// answers. Errors: ESRCH, EACCES, ENOENT, EBUSY.
func (c *Console) RefreshGroup(ctx context.Context, key uint32, name string) ([]Answer, error) {
	r, err := c.run(ctx, &engine.RefreshGroup{Key: key, Group: name})
	return r.Answers, err
}

// Groups returns the groups in the order in which they were made. ESRCH: there is no session.
func (c *Console) Groups() (list []Group, err error) {
	c.look(func() { list, err = c.console.Groups() })
	return list, err
}

// Group returns a group. Errors: ESRCH, ENOENT.
func (c *Console) Group(name string) (g Group, err error) {
	c.look(func() { g, err = c.console.Group(name) })
	return g, err
}

// Ping asks nodes for the sessions that they have (DEBUG). A node without a session answers with
// the status ESRCH. Each node may take as long as timeout says, at least 3 s and at most 30 s.
// Errors: ESRCH without a session, EACCES, ENOENT, EINVAL.
func (c *Console) Ping(ctx context.Context, key uint32, target Target, timeout time.Duration) ([]Answer, error) {
	r, err := c.run(ctx, &engine.Ping{Key: key, Target: target, Timeout: timeout})
	return r.Answers, err
}

// look restarts the idle timer of the session, and calls f, which reads the state of the machine.
func (c *Console) look(f func()) {
	c.runner.Do(engine.Input{Kind: engine.Used})
	c.runner.Inspect(f)
}
