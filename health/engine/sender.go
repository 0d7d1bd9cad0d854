package engine

import (
	"slices"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// A node may have several NIDs. A server takes part under its NID in the list of servers, and a client
// under the one from which it connects. Both send all messages from that NID, so the NID from which a message
// came tells its sender. The primary NID of a node does not: it changes when the node's first NI is
// stopped and started again. It counts only where the NID from which the message came is not known.

// sender returns the process for which a message of another server or of a client counts. If the message came
// from a known client whose record has the primary NID of its node, as those of versions before
// 2026-11-29 have, the connection is from then on that of the NID from which the message came.
func (s *Server) sender(in *ServerInput, m *wire.Message) nid.ProcessID {
	node := nid.ProcessID{NID: in.Primary, PID: in.From.PID}
	if !in.Primary.IsValid() || node == in.From {
		return in.From
	}
	if m.Kind.BetweenServers() {
		_, direct := s.members.find(in.From.NID)
		if _, ok := s.members.find(in.Primary); ok && !direct {
			return node
		}
		return in.From
	}
	if i, ok := s.find(m.Client); ok && s.conn(i).peer == node {
		s.unlink(i)
		s.conn(i).peer = in.From
		s.push(i)
	}
	return in.From
}

// sender returns the process for which a message of a server counts.
func (c *Client) sender(in *ClientInput) nid.ProcessID {
	if in.Primary.IsValid() && !c.talksTo(in.From.NID) && c.talksTo(in.Primary) {
		return nid.ProcessID{NID: in.Primary, PID: in.From.PID}
	}
	return in.From
}

// talksTo reports whether this client sends messages to a server, or waits for its answer to a farewell.
func (c *Client) talksTo(id nid.NID) bool {
	return c.known(id) != nil || slices.ContainsFunc(c.farewells, func(f farewell) bool { return f.to == id })
}
