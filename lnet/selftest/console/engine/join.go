package engine

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
)

// join answers the request of a node to join the session (selftest §10). Nodes that join by
// themselves may use a quarter of the bounds on nodes, groups and members, so that they do not keep
// the user from adding others (local policy).
func (c *Console) join(in *Input) {
	reply := wire.JoinReply{Session: wire.NoSession()}
	features := wire.KnownFeatures
	status := wire.ESRCH
	if s := c.session; s != nil && !s.ending {
		status = c.admit(s, in)
		reply.Session, features = s.id, s.features
		if status == wire.OK {
			reply.Timeout, reply.Name = seconds(s.timeout), s.name
		}
	}
	m := wire.Message{Header: wire.Header{Features: features}, Status: status, Body: &reply}
	data, err := m.AppendBinary(make([]byte, 0, wire.MessageSize))
	if err != nil { // does not happen: id and name of the session were checked when it was made
		return
	}
	c.do(Effect{Kind: DoReply, ID: in.ReplyID, Peer: in.Peer, Self: in.Self, Data: data})
}

// admit adds a node that wants to join the session to the group that it names, which is made if it
// is not there. It returns the status of the reply.
func (c *Console) admit(s *session, in *Input) wire.Status {
	// Kernel consoles let the first node decide about the features, even a node that joins by itself. This console
	// does not let such a node decide.
	if in.Features != s.features {
		return wire.EPROTO
	}
	if id := in.Join.Session; !id.Console.IsAny() && id != s.id {
		return wire.EBUSY
	}
	if checkName("group", in.Join.Group) != nil || !printable(in.Join.Group) || checkID(in.Peer) != nil {
		return wire.EINVAL
	}
	g, err := s.group(in.Join.Group)
	n := s.byID[in.Peer]
	switch {
	case err == nil && (g.tests > 0 || g.uses > 0):
		return wire.EBUSY
	case err == nil && n != nil && g.has[n]:
		return wire.EEXIST
	case c.fits(&group{}, []nid.ProcessID{in.Peer}) != nil, n == nil && s.joined >= c.cfg.MaxNodes/4,
		s.members >= c.cfg.MaxMembers/4, err != nil && len(s.groups) >= c.cfg.MaxGroups/4:
		return wire.ENOMEM
	}
	if err != nil {
		g = &group{name: in.Join.Group}
		s.groups = append(s.groups, g)
	}
	s.fixed = true
	c.admitted(s, g, in.Peer)
	return wire.OK
}

// printable reports whether all characters of a name that another node has chosen can be shown on a terminal.
func printable(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// admitted notes that a node has joined. The node begins the session when it gets the reply.
func (c *Console) admitted(s *session, g *group, id nid.ProcessID) {
	n := s.byID[id]
	if n == nil {
		n = s.node(id, c.now)
		n.joined = true
		s.joined++
	}
	g.add(n)
	s.members++
	n.made = max(n.made, n.making+1) // the node counts its own request and each MAKE_SESSION that is under way
	n.state, n.heard = Active, c.now
	n.timeout = min(nodeTimeout, max(s.timeout, time.Second))
}
