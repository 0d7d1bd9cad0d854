package engine

import (
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// members are the servers. Each has a number that does not change while the machine exists, so
// that a connection needs only four bytes to store its master.
type members struct {
	list  []member
	index map[nid.NID]int32
	self  int32
	moved time.Duration // active time at which discovery last reported that a server had died or was back
}

type member struct {
	id        nid.NID
	listed    bool          // the server is on the list of servers; servers that were on it before, or that old records name, have an entry, too
	alive     bool          // the latest report of discovery about the server was that it is alive
	known     bool          // discovery has reported the server at least once
	away      bool          // the server has reported that it was cut off, and must be asked about its clients
	lifetime  uint64        // how often the server has died, as discovery counts
	deadSince time.Duration // active time at which the server died
	burden    burden
}

func (m *members) init(self nid.NID) {
	m.index = make(map[nid.NID]int32)
	m.self = m.intern(self)
	m.list[m.self].alive = true
}

// intern returns the number of a server, and gives a new server its number.
func (m *members) intern(id nid.NID) int32 {
	i, ok := m.index[id]
	if !ok {
		i = int32(len(m.list))
		m.list = append(m.list, member{id: id})
		m.index[id] = i
	}
	return i
}

// set replaces the list of servers.
func (m *members) set(ids []nid.NID) {
	for i := range m.list {
		m.list[i].listed = int32(i) == m.self
	}
	for _, id := range ids {
		m.list[m.intern(id)].listed = true
	}
}

// find returns the number of a server that is on the list of servers.
func (m *members) find(id nid.NID) (int32, bool) {
	i, ok := m.index[id]
	return i, ok && m.list[i].listed
}

func (m *members) nid(i int32) nid.NID {
	if i < 0 {
		return nid.NID{}
	}
	return m.list[i].id
}

// alive reports whether a server is alive. A server that discovery has not reported counts as
// dead.
func (m *members) alive(i int32) bool { return m.list[i].listed && m.list[i].alive }

// serverHealth applies a report of discovery. If the server's number of deaths differs from the one
// reported before, the server has died and come back in between, even if discovery has not reported the
// death.
func (s *Server) serverHealth(in *ServerInput) {
	i, ok := s.members.index[in.Server]
	if !ok || i == s.members.self {
		return
	}
	m := &s.members.list[i]
	died := m.known && m.alive && (!in.Alive || m.lifetime != in.Lifetime)
	rose := in.Alive && !m.alive
	back := rose && m.known
	if !in.Alive && (m.alive || !m.known) {
		m.deadSince = s.now
	}
	m.known, m.alive, m.lifetime = true, in.Alive, in.Lifetime
	if died || rose { // also one that this server hears for the first time since its own start
		s.members.moved = s.now
	}
	if died {
		s.orphanAll(i)
	}
	if back && (!s.cfg.Uneven || m.burden.idle != wire.OK) { // a server that took no clients may have been restarted, and take them again
		s.balance.returned(s, m)
	}
	if back && s.quorum.have {
		s.catchup.ask(s, i, s.now-m.deadSince)
	}
	if rose {
		m.burden.greet = m.burden.greet || s.drain.on || s.unsaved.told // if this server takes no clients, the server that is back gets a digest that says so
		s.evictions.returned(s, i)
		s.digests.soon = true
	}
}
