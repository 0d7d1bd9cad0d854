package engine

import (
	"slices"
	"syscall"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
)

// Target selects the nodes that a command asks. Exactly one of Group, Batch, Session and Nodes is
// set.
type Target struct {
	Group   string          // the nodes of a group
	Batch   string          // the clients of a batch
	Server  bool            // the servers of Batch instead of its clients
	Session bool            // all nodes of the session
	Nodes   []nid.ProcessID // these nodes, which need not be in the session
}

// nodes returns the nodes of a target. The groups and batches that have them may change meanwhile.
func (t *Target) nodes(c *Console, s *session) ([]*node, error) {
	set := 0
	for _, is := range []bool{t.Group != "", t.Batch != "", t.Session, len(t.Nodes) > 0} {
		if is {
			set++
		}
	}
	switch {
	case set != 1 || t.Server && t.Batch == "":
		return nil, fail(syscall.EINVAL, "name one of group, batch, session and nodes", "%d targets are given", set)
	case t.Session:
		return slices.Clone(s.nodes), nil
	case t.Group != "":
		g, err := s.group(t.Group)
		if err != nil {
			return nil, err
		}
		return slices.Clone(g.nodes), nil
	case t.Batch != "":
		b, err := s.batch(t.Batch)
		if err != nil {
			return nil, err
		}
		if t.Server {
			return slices.Clone(b.servers.nodes), nil
		}
		return slices.Clone(b.clients.nodes), nil
	}
	return c.nodesOf(s, t.Nodes)
}

// nodesOf returns nodes that need not be in the session.
func (c *Console) nodesOf(s *session, ids []nid.ProcessID) ([]*node, error) {
	if err := checkIDs(ids); err != nil {
		return nil, err
	}
	if err := c.fits(&group{}, ids); err != nil {
		return nil, err
	}
	list := make([]*node, 0, len(ids))
	seen := make(map[*node]bool, len(ids))
	for _, id := range ids {
		if n := s.node(id, c.now); !seen[n] {
			seen[n] = true
			list = append(list, n)
		}
	}
	return list, nil
}

// Ping asks nodes for their sessions. Nodes without a session answer with the status ESRCH.
type Ping struct {
	Key     uint32        // key of the session
	Target  Target        // the nodes
	Timeout time.Duration // how long to wait for a node, 3 s to 30 s
}

func (p *Ping) begin(c *Console, o *operation) error {
	s, err := c.current(p.Key)
	if err != nil {
		return err
	}
	nodes, err := p.Target.nodes(c, s)
	if err != nil {
		return err
	}
	c.ask(&transaction{
		of: o, service: wire.DebugService, nodes: nodes, wait: p.Timeout,
		request: func(int) (wire.Body, []byte) { return &wire.Debug{Session: s.id}, nil },
		take: func(a *Answer, _ *node, m *wire.Message) bool {
			b := m.Body.(*wire.DebugReply)
			a.Name, a.Timeout = b.Name, time.Duration(b.Timeout)*time.Second
			return false
		},
		then: func() { c.finish(o, nil) },
	})
	return nil
}

// Stat asks nodes for their counters.
type Stat struct {
	Key     uint32        // key of the session
	Target  Target        // the nodes
	Timeout time.Duration // how long to wait for a node, 3 s to 30 s
}

func (q *Stat) begin(c *Console, o *operation) error {
	s, err := c.current(q.Key)
	if err != nil {
		return err
	}
	nodes, err := q.Target.nodes(c, s)
	if err != nil {
		return err
	}
	c.ask(&transaction{
		of: o, service: wire.StatService, nodes: nodes, wait: q.Timeout,
		request: func(int) (wire.Body, []byte) { return &wire.Stat{Session: s.id}, nil },
		take: func(a *Answer, _ *node, m *wire.Message) bool {
			if m.Status == wire.OK {
				a.Stat = m.Body.(*wire.StatReply)
			}
			return false
		},
		then: func() { c.finish(o, nil) },
	})
	return nil
}
