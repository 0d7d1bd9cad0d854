package zone

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/gossip/zone"
)

// NodeAttributes are the attributes of a node of the zone.
type NodeAttributes struct {
	ID         zone.ID     `json:"id"`         // the node that owns the attributes
	Version    uint64      `json:"version"`    // version of the node's attribute table
	Attributes []Attribute `json:"attributes"` // the attributes, in the order in which they were written
}

// Attribute is an attribute of a node.
type Attribute struct {
	Key   string `json:"key"`   // name of the attribute, 1 to 255 bytes
	Value []byte `json:"value"` // value of the attribute: any bytes
	U     uint64 `json:"u"`     // version that the node's table of attributes got by the write
}

// WriteRequest writes an attribute of this node, or deletes it.
type WriteRequest struct {
	Key    string `json:"key"`              // name of the attribute, 1 to 255 bytes
	Value  []byte `json:"value,omitempty"`  // value to write: any bytes; none with Delete
	Delete bool   `json:"delete,omitempty"` // delete the attribute instead of writing it
}

// Events is a list of events of the zone.
type Events struct {
	Next   uint64  `json:"next"`   // number of the next event
	Events []Event `json:"events"` // the events, the oldest first
}

// Topology is the ring, and the links of this node. Both ends of a link monitor each other.
type Topology struct {
	Self       zone.ID           `json:"self"`       // id of this node
	Successors int               `json:"successors"` // number of successors to which each node has links
	Ring       []zone.ID         `json:"ring"`       // all members in the order of the ring; each has links to the next ones
	Links      []zone.LinkStatus `json:"links"`      // links of this node
}

// Status returns the state in numbers. ESRCH: the node is in no zone. All operations return this
// error, and all but Status and Events also return it on a node that has left its zone.
func (m *Module) Status() (s zone.Status, err error) {
	a, err := m.agent()
	if err == nil {
		s = a.Status()
	}
	return s, err
}

// Events returns the latest events, from the one with the given number on.
func (m *Module) Events(from uint64) (e Events, err error) {
	if _, err = m.agent(); err == nil {
		e.Events, e.Next = m.zone.since(from)
	}
	return e, err
}

// Suspicions returns the reports of suspicions that have not been refuted.
func (m *Module) Suspicions() (list []zone.SuspicionStatus, err error) {
	a, err := m.member()
	if err == nil {
		list = a.Suspicions()
	}
	return list, err
}

// Census returns what the management zone knows of base zones. EINVAL: this node is not in the
// management zone.
func (m *Module) Census() ([]zone.CensusEntry, error) {
	a, err := m.member()
	if err != nil {
		return nil, err
	}
	if !m.Config.Zone.Supervisor {
		return nil, notManagement()
	}
	return a.Census(), nil
}

func notManagement() error {
	return cli.Hint(cli.Errno(syscall.EINVAL, errors.New("this node is in a base zone, which does not know of others")),
		"ask a node with role: supervisor in its section zone")
}

// Of returns the members of a base zone. EINVAL: this node is not in the management zone.
// ENOENT: there is no such zone. ETIMEDOUT: its supervisor does not answer with all members.
func (m *Module) Of(ctx context.Context, name string) ([]zone.Named, error) {
	a, err := m.member()
	if err != nil {
		return nil, err
	}
	if !m.Config.Zone.Supervisor {
		return nil, notManagement()
	}
	type answer struct {
		list []zone.Named
		err  error
	}
	answered := make(chan answer, 1)
	a.Query(name, func(list []zone.Named, err error) { answered <- answer{list, err} })
	select {
	case got := <-answered:
		switch {
		case errors.Is(got.err, zone.ErrUnguarded):
			return nil, cli.Hint(cli.Errno(syscall.ENOENT, got.err), "'gossipctl zone census' lists zones")
		case errors.Is(got.err, zone.ErrNoAnswer):
			return nil, cli.Hint(cli.Errno(syscall.ETIMEDOUT, got.err), "try again: another supervisor takes over, or this one corrects its list; each knows max_members of a zone at most")
		}
		return got.list, notJoined(got.err)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Topology returns the ring and the node's links.
func (m *Module) Topology() (t Topology, err error) {
	a, err := m.member()
	if err != nil {
		return t, err
	}
	t = Topology{Self: m.zone.id, Successors: a.Status().Successors, Links: a.Links()}
	for _, m := range a.Members() {
		t.Ring = append(t.Ring, m.ID)
	}
	return t, nil
}

// Attributes returns the attributes of a node, given its name or its id; "" stands for this
// node. ENOENT: that node is no member.
func (m *Module) Attributes(node string) (t NodeAttributes, err error) {
	a, err := m.member()
	if err != nil {
		return t, err
	}
	if t.ID, err = m.node(a, node); err != nil {
		return t, err
	}
	if a.Explain(t.ID).State != "member" {
		return t, cli.Hint(cli.Errno(syscall.ENOENT, fmt.Errorf("%v is no member of the zone", t.ID)), "'gossipctl zone explain' tells what became of it")
	}
	list, u := a.Attributes(t.ID)
	t.Version, t.Attributes = u, []Attribute{}
	for i := range list {
		t.Attributes = append(t.Attributes, Attribute{list[i].Key, list[i].Value, list[i].U})
	}
	return t, nil
}

// node finds a node by its name or its id; "" stands for this node.
func (m *Module) node(a *zone.Agent, node string) (zone.ID, error) {
	switch {
	case node == "":
		return m.zone.id, nil
	case strings.Contains(node, "="):
		id, err := zone.ParseID(node)
		if err != nil {
			err = cli.Errno(syscall.EINVAL, err)
		}
		return id, err
	}
	found := a.Find(node)
	for _, g := range a.History() {
		if len(found) == 0 && g.ID.IsValid() && g.ID.Name() == node {
			found = append(found, g.ID)
		}
	}
	switch len(found) {
	case 0:
		return zone.ID{}, cli.Hint(cli.Errno(syscall.ENOENT, fmt.Errorf("no node %q in the zone", node)), "'gossipctl zone members' lists them")
	case 1:
		return found[0], nil
	}
	return zone.ID{}, cli.Hint(cli.Errno(syscall.EINVAL, fmt.Errorf("%d nodes have the name %q", len(found), node)),
		"name one with its NIDs: %v", found[0])
}

// Explain returns all that is known of a node. The argument is as for Attributes.
func (m *Module) Explain(node string) (x zone.Explanation, err error) {
	a, err := m.member()
	if err != nil {
		return x, err
	}
	id, err := m.node(a, node)
	if err != nil {
		return x, err
	}
	return a.Explain(id), nil
}

// NodeName names a node.
type NodeName struct {
	Node string `json:"node" query:"node"` // name or id; empty: this node
}

// Remove removes a member from the views of the whole zone; if the member runs, it comes back at
// once. EINVAL: the node is this one. ENOENT: the node is no member.
func (m *Module) Remove(r NodeName) error {
	a, err := m.member()
	if err != nil {
		return err
	}
	id, err := m.node(a, r.Node)
	if err == nil {
		err = a.Remove(id)
	}
	switch {
	case errors.Is(err, zone.ErrNotJoined):
		return notJoined(err)
	case errors.Is(err, zone.ErrSelf):
		return cli.Hint(cli.Errno(syscall.EINVAL, err), "'gossipctl zone leave' has this node say goodbye")
	case errors.Is(err, zone.ErrNoMember):
		return cli.Hint(cli.Errno(syscall.ENOENT, fmt.Errorf("%v is no member any more", id)), "'gossipctl zone explain' tells what became of it")
	case err == nil:
		m.Log.Warn("a node is removed from the zone at the request of the administrator", slog.String("node", id.String()))
	}
	return err
}

// Write writes or deletes an attribute of this node. EINVAL: the attribute cannot be written.
func (m *Module) Write(w WriteRequest) error {
	a, err := m.agent()
	if err != nil {
		return err
	}
	if w.Delete {
		err = a.Delete(w.Key)
	} else {
		err = a.Set(w.Key, w.Value)
	}
	switch {
	case errors.Is(err, zone.ErrNotJoined):
		return notJoined(err)
	case err != nil:
		return cli.Errno(syscall.EINVAL, err)
	}
	return nil
}
