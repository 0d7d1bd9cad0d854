package engine

import (
	"slices"
	"syscall"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
)

// node is a test node of the session. Groups and batches share it.
type node struct {
	id      nid.ProcessID
	state   State
	members int // number of groups and batches that have the node
	held    int // number of operations that use the node
	// made is how many MAKE_SESSION requests the node may have counted: those that were sent and
	// not refused since the node last said that it does not have this session. A request of the node to join counts as one.
	made    int
	making  int           // MAKE_SESSION requests under way
	heard   time.Duration // when the node last answered, or was pinged because it was silent
	timeout time.Duration // time-out of the session at the node
	pinging bool          // a DEBUG request of the console itself is under way
	joined  bool          // the node has joined by itself
	differs bool          // the node has made the session with features that are not those of the session
	// features are, if differs is set, the features with which the node has the
	// session.
	features wire.Features
}

// mayHave reports whether a node may have the session: it said so, or got a request to make it
// and has not said since that it has none.
func (n *node) mayHave() bool { return n.state == Active || n.made > 0 }

// learn updates what is known of a node's session with what its reply says. A reply that refuses
// the version or the features says nothing about the session.
func (c *Console) learn(a *Answer, n *node, m *wire.Message) {
	if m.Status == wire.EPROTO {
		return
	}
	n.heard = c.now
	id := sessionOf(m.Body)
	a.Session = id
	switch {
	case id.Console.IsAny():
		n.state = Unknown
	case id == c.session.id && n.differs: // the node has been asked to leave, because its features differ
		n.state = Unknown
		return
	case id == c.session.id:
		n.state = Active
		return
	default:
		n.state = Busy
	}
	n.made, n.differs = n.making, false // MAKE_SESSION requests under way may still succeed
}

// sessionOf returns the session in a reply.
func sessionOf(body wire.Body) wire.Session {
	switch b := body.(type) {
	case *wire.MakeSessionReply:
		return b.Session
	case *wire.RemoveSessionReply:
		return b.Session
	case *wire.BatchReply:
		return b.Session
	case *wire.TestReply:
		return b.Session
	case *wire.StatReply:
		return b.Session
	case *wire.DebugReply:
		return b.Session
	}
	return wire.NoSession()
}

// node returns the node of a process, which becomes known if it is not.
func (s *session) node(id nid.ProcessID, now time.Duration) *node {
	n := s.byID[id]
	if n == nil {
		n = &node{id: id, heard: now, timeout: nodeTimeout}
		s.byID[id] = n
		s.nodes = append(s.nodes, n)
	}
	return n
}

// forget drops those of the given nodes that nothing uses any more.
func (s *session) forget(nodes []*node) {
	dropped := false
	for _, n := range nodes {
		if n.members == 0 && n.held == 0 && s.byID[n.id] == n {
			if n.joined {
				s.joined--
			}
			delete(s.byID, n.id)
			dropped = true
		}
	}
	if dropped {
		s.nodes = slices.DeleteFunc(s.nodes, func(n *node) bool { return s.byID[n.id] != n })
	}
}

// checkIDs refuses processes that cannot be test nodes.
func checkIDs(ids []nid.ProcessID) error {
	for _, id := range ids {
		if err := checkID(id); err != nil {
			return err
		}
	}
	return nil
}

func checkID(id nid.ProcessID) error {
	switch {
	case !id.NID.IsValid() || id.NID.IsAny():
		return fail(syscall.EINVAL, "use the NID of a node, as 10.0.0.1@tcp", "%v names no node", id)
	// Without a PID the match entry for the answer would match any process, and such an entry can keep
	// entries for one process off a portal.
	case id.PID == 0 || id.PID == nid.PIDAny:
		return fail(syscall.EINVAL, "use the PID of a node, 12345", "%v names no process", id)
	case id.NID.IsLo():
		return fail(syscall.EINVAL, "use another NID of the node", "%v is another node at each test client", id)
	case !id.NID.Is4():
		return fail(syscall.EAFNOSUPPORT, "use a NID of the node with an IPv4 address", "%v has no form in the messages of selftest", id)
	}
	return nil
}
