package engine

import (
	"time"

	"ulnet/lnet/nid"
)

// members are the servers, numbered once for ever, so that a connection names
// its master in four bytes.
type members struct {
	list  []member
	index map[nid.NID]int32
	self  int32
}

type member struct {
	id        nid.NID
	listed    bool // it is a server of the cluster; others were, or are in old records
	alive     bool
	known     bool // discovery has spoken of it
	away      bool // it says so, and was not asked yet about its clients
	lifetime  uint64
	deadSince time.Duration // active time
	burden    burden
}

func (m *members) init(self nid.NID) {
	m.index = make(map[nid.NID]int32)
	m.self = m.intern(self)
	m.list[m.self].alive = true
}

// intern returns the number of a server.
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

// find returns the number of a server of the cluster.
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

// alive reports whether a server is; who was not said to be is dead.
func (m *members) alive(i int32) bool { return m.list[i].listed && m.list[i].alive }

// serverHealth takes what discovery says. A death that was missed shows in the
// number of deaths.
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
	if died {
		s.orphanAll(i)
	}
	if back && !s.cfg.Uneven {
		s.balance.returned(s, m)
	}
	if back && s.quorum.have {
		s.catchup.ask(s, i, s.now-m.deadSince)
	}
	if rose {
		m.burden.greet = m.burden.greet || s.drain.on // or it would not know
		s.evictions.returned(s, i)
		s.digests.soon = true
	}
}
