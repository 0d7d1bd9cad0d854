package engine

import (
	"slices"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// ServerStats has the counters of a Server.
type ServerStats struct {
	Connects     uint64              // connects that arrived
	Accepted     uint64              // connects that were accepted, repeated ones included
	Rejected     [wire.Codes]uint64  // connects that were refused, by reason
	Pings        uint64              // pings that arrived
	Asks         uint64              // questions to clients that are silent while their nodes send other messages
	Answers      uint64              // answers of clients to these questions
	Displaced    uint64              // clients of restarted processes that made room for others of their NID
	Refuted      uint64              // connects with a later incarnation from another process, refused because the connected process has answered
	Chosen       uint64              // messages in which a client names the master that it has chosen
	Choices      [wire.Codes]uint64  // these messages, by the code of this server's answer
	Sent         uint64              // messages sent
	Notices      [wire.Codes]uint64  // notices sent, by code
	Ended        [wire.Causes]uint64 // connections that ended, by cause
	Orphaned     uint64              // connections that became orphans
	Evictions    uint64              // evictions that this server began as a master
	Broadcasts   uint64              // broadcasts of evictions, repeated ones included
	Rebroadcasts uint64              // of these broadcasts, repeated ones
	Kept         uint64              // evictions that this server ended without effect, because the client has another master
	Excepted     uint64              // evictions that other servers ordered and this server refused
	Ghosts       uint64              // clients that their recorded master did not know
	Shed         uint64              // clients that were asked to choose a server with fewer clients
	Revoked      uint64              `json:"pardoned"` // tombstones that were withdrawn, or dropped because this server lost its quorum
	Forgotten    uint64              // tombstones removed because there was no room
	Fetched      uint64              // tombstones received from other servers that this server had asked
	Untold       uint64              // tombstones that did not fit this server's answers
	Unowed       uint64              // withdrawals that a dead server has missed, and that this server has dropped because it kept too many of them
	Hurried      uint64              // requests for tombstones refused by the rate limit
	Ahead        uint64              // evictions of incarnations whose number is too high to be accepted; no tombstone is kept
	Malformed    uint64              // messages that could not be parsed
	OtherVersion uint64              // messages of an unknown version
	BadName      uint64              // connects with an invalid name
	Unexpected   uint64              // messages of a kind that is not for servers
	Foreign      uint64              // messages about a client that came from another node than that of the client
	Strangers    uint64              // messages of the kinds between servers whose sender is not a server
	Late         uint64              // inputs about a connection, request or broadcast that has ended
	NotSaved     uint64              // records that could not be written
	Unsent       uint64              // broadcasts that could not be sent
	BadReplies   uint64              // replies to broadcasts that could not be parsed
	Paused       time.Duration       // sum of the pauses of this process
}

// ClientInfo is what a server knows of a client.
type ClientInfo struct {
	Client      wire.ClientID `json:"client"`         // id of the client
	Incarnation uint64        `json:"incarnation"`    // number of the connected incarnation
	Name        string        `json:"name,omitempty"` // a name for people to read
	Peer        nid.ProcessID `json:"peer"`           // the process from which the client sends
	State       string        `json:"state"`          // saving, connected, orphaned, recovering or evicting
	Master      nid.NID       `json:"master"`         // the server that watches over the client
	Epoch       uint32        `json:"epoch"`          // number of the client's choice of that master
	// Since is the time since the client was last known to be alive, if this server is its
	// master. Otherwise it is the time since the client became orphaned or recovering.
	Since time.Duration `json:"since_ns,omitempty"`
}

// ServerStatus is the state of a server.
type ServerStatus struct {
	Self       nid.NID   `json:"self"`                  // this server
	Quorum     bool      `json:"quorum"`                // the server can reach a majority of the servers
	Draining   bool      `json:"draining"`              // the server asks its clients to choose other masters
	Clients    int       `json:"clients"`               // number of connections, in any state
	Mastered   int       `json:"mastered"`              // number of connected clients whose master this server is
	Orphaned   int       `json:"orphaned"`              // number of clients whose master is dead, or does not know them
	Recovering int       `json:"recovering"`            // clients from before a restart that are not confirmed
	Evicting   int       `json:"evicting"`              // number of clients that this server is evicting
	Waiting    int       `json:"waiting"`               // number of connects that wait for an eviction
	Tombstones int       `json:"tombstones"`            // number of evictions that are remembered
	Batches    int       `json:"batches"`               // broadcasts of evictions that some server has not answered; withdrawals that wait only for servers dead for T_q do not count
	ClaimKeys  int       `json:"claim_keys"`            // number of keys that verify claims
	Keys       int       `json:"connect_keys"`          // number of keys that verify connects
	Verified   [2]uint64 `json:"connect_keys_verified"` // connects that each of these keys has verified since it was set
}

// Stats returns the counters so far.
func (s *Server) Stats() ServerStats { return s.stats }

// Quorum reports whether this server has a quorum.
func (s *Server) Quorum() bool { return s.quorum.have }

// Clients returns all clients, sorted by id.
func (s *Server) Clients() []ClientInfo {
	list, _ := s.List(s.table.count, func(*ClientInfo) bool { return true })
	return list
}

// List returns the first limit clients that match, sorted by id, and the number of all that
// match. It needs memory for twice the limit.
func (s *Server) List(limit int, match func(*ClientInfo) bool) (list []ClientInfo, matching int) {
	byID := func(a, b ClientInfo) int { return a.Client.Compare(b.Client) }
	list = make([]ClientInfo, 0, min(limit, s.table.count))
	full := false // once the list is full, its last id bounds the ids that can still get in
	var info ClientInfo
	s.each(func(_ int32, c *conn) {
		if info = s.info(c); !match(&info) {
			return
		}
		if matching++; full && info.Client.Compare(list[limit-1].Client) > 0 {
			return
		}
		if list = append(list, info); len(list) >= max(2*limit, 2) {
			slices.SortFunc(list, byID)
			list, full = list[:limit], limit > 0
		}
	})
	slices.SortFunc(list, byID)
	return list[:min(limit, len(list))], matching
}

// Masters returns how many clients each server is the master of.
func (s *Server) Masters() map[nid.NID]int {
	counts := make([]int, len(s.members.list))
	s.each(func(_ int32, c *conn) {
		if c.master >= 0 {
			counts[c.master]++
		}
	})
	of := make(map[nid.NID]int)
	for i, n := range counts {
		if n > 0 {
			of[s.members.list[i].id] = n
		}
	}
	return of
}

// Client returns what this server knows of a client, and false if the client is not connected.
func (s *Server) Client(id wire.ClientID) (ClientInfo, bool) {
	i, ok := s.find(id)
	if !ok {
		return ClientInfo{}, false
	}
	return s.info(s.conn(i)), true
}

func (s *Server) info(c *conn) ClientInfo {
	info := ClientInfo{
		Client: c.id, Incarnation: c.incarnation, Name: c.name, Peer: c.peer, State: c.state.String(), Master: s.members.nid(c.master), Epoch: c.epoch,
	}
	if s.ours(c) || c.state == orphaned || c.state == recovering {
		info.Since = s.now - c.seen
	}
	return info
}

// Status returns the state.
func (s *Server) Status() ServerStatus {
	st := ServerStatus{
		Self: s.cfg.Self, Quorum: s.quorum.have, Draining: s.drain.on, Clients: s.table.count, Waiting: len(s.waiting.clients),
		Tombstones: len(s.tombstones.incarnations), Batches: s.evictions.underWay(s), ClaimKeys: len(s.claims),
		Keys: s.cfg.Keys.Len(),
	}
	if s.ring.On() {
		st.Verified = s.ring.Verified
	}
	s.each(func(_ int32, c *conn) {
		switch {
		case c.state == orphaned:
			st.Orphaned++
		case c.state == recovering:
			st.Recovering++
		case c.state == evicting:
			st.Evicting++
		case c.state == connected && s.ours(c):
			st.Mastered++
		}
	})
	return st
}
