package engine

import (
	"syscall"
	"time"

	"ulnet/lnet/selftest/wire"
)

// makeSession asks those of the given nodes that are not active to join the session. When they have
// answered or were given up, it calls the function then.
func (c *Console) makeSession(o *operation, nodes []*node, then func()) {
	s := c.session
	var list []*node
	for _, n := range nodes {
		if n.state != Active {
			list = append(list, n)
		}
	}
	c.ask(&transaction{
		of: o, service: wire.MakeSessionService, nodes: list, wait: mostWait,
		request: func(i int) (wire.Body, []byte) {
			list[i].made++
			list[i].making++
			s.doubtSession(list[i])
			return &wire.MakeSession{Session: s.id, Force: s.force, Name: s.name}, nil
		},
		take: func(a *Answer, n *node, m *wire.Message) bool {
			c.madeSession(s, a, n, m)
			return false
		},
		then: then,
	})
}

// madeSession takes the reply to MAKE_SESSION. The first node that joins decides the features of
// the session; a node with other features is asked to leave it at once (selftest §10).
func (c *Console) madeSession(s *session, a *Answer, n *node, m *wire.Message) {
	b := m.Body.(*wire.MakeSessionReply)
	if m.Status != wire.OK {
		n.made = max(n.made-1, n.making)
		a.Name = b.Name
		return
	}
	if !s.fixed && m.Features&^s.features == 0 {
		s.fixed, s.features = true, m.Features
	}
	if n.differs = m.Features != s.features && b.Session == s.id; n.differs {
		n.state, n.features = Unknown, m.Features
		o := c.background()
		c.remove(o, []*node{n}, func() { c.finish(o, nil) })
	}
	if m.Features != s.features {
		a.Status = syscall.Errno(wire.EPROTO)
		return
	}
	if b.Session == s.id {
		n.state = Active
	}
	if b.Timeout > 0 {
		n.timeout = time.Duration(b.Timeout) * time.Second
	}
}

// mostMore is how many REMOVE_SESSION requests a node gets at the end of the session beyond those for the MAKE_SESSION
// requests that it may have counted.
const mostMore = 3

// remove asks nodes to leave the session. When they have answered or were given up, it calls the
// function then. A node that has counted several MAKE_SESSION requests, because their replies were
// lost, is asked as many times. The answer ESRCH, that the node does not have our session, counts as
// success (selftest §10). Nodes that are not active get the shortest time to answer: they may be gone.
//
// A node that names our session all the same has counted requests that this console does not know of, such as those of
// another node, or has it by another of its NIDs, too. At the end of the session it is asked again, up to mostMore times,
// and then reported with EBUSY. Before that the other NID may be in use, so the node keeps the session.
func (c *Console) remove(o *operation, nodes []*node, then func()) {
	s, more := c.session, map[*node]int{}
	c.ask(&transaction{
		of: o, service: wire.RemoveSessionService, nodes: nodes, wait: mostWait, brief: true,
		request: func(int) (wire.Body, []byte) { return &wire.RemoveSession{Session: s.id}, nil },
		take: func(a *Answer, n *node, m *wire.Message) bool {
			if m.Status == wire.ESRCH {
				a.Status = 0
			}
			n.made = max(n.made-1, 0)
			switch {
			case m.Status != wire.OK || a.Session != s.id:
				return false
			case n.made > 0:
				return true
			case !s.ending:
				return false
			case more[n] < mostMore:
				more[n]++
				return true
			}
			a.Status = syscall.EBUSY
			return false
		},
		then: then,
	})
}
