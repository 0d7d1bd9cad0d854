package engine

import (
	"slices"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// ServerStats counts what a Server did and met.
type ServerStats struct {
	Connects     uint64              // requests that arrived
	Accepted     uint64              // and were accepted, those repeated included
	Rejected     [wire.Codes]uint64  // by reason
	Pings        uint64              // that arrived
	Asks         uint64              // whether a client is there while its node sends other messages
	Answers      uint64              // to these
	Displaced    uint64              // clients of processes that have restarted, which had too many
	Refuted      uint64              // later lives of other processes, refused because the client is there
	Chosen       uint64              // choices of a master that arrived
	Choices      [wire.Codes]uint64  // by answer
	Sent         uint64              // messages
	Notices      [wire.Codes]uint64  // by kind
	Ended        [wire.Causes]uint64 // connections, by cause
	Orphaned     uint64
	Evictions    uint64 // of clients by this master
	Broadcasts   uint64
	Rebroadcasts uint64 // of those
	Kept         uint64 // evictions of clients that had another master
	Excepted     uint64 // evictions by others that were not made
	Ghosts       uint64 // clients whose master did not know them
	Shed         uint64 // clients that were asked to choose a server that has fewer
	Pardoned     uint64 // tombstones that were taken back, or told by who was cut off like this server
	Forgotten    uint64 // tombstones, for want of room
	Fetched      uint64 // tombstones that others had and this server had not, after it was cut off
	Untold       uint64 // tombstones that were not told to others, for want of room
	Hurried      uint64 // questions for tombstones that came too soon after another
	Ahead        uint64 // evictions of lives that are beyond belief, which are not remembered
	Malformed    uint64 // messages that are not understood, as the next two
	OtherVersion uint64
	BadName      uint64
	Unexpected   uint64 // messages that are not for servers
	Foreign      uint64 // messages about a client from another node
	Strangers    uint64 // messages between servers from who is none
	Late         uint64 // inputs about what is over
	NotSaved     uint64 // records
	Unsent       uint64 // broadcasts
	BadReplies   uint64 // to broadcasts
	Paused       time.Duration
}

// ClientInfo is what a server knows of a client.
type ClientInfo struct {
	Client      wire.ClientID `json:"client"`
	Incarnation uint64        `json:"incarnation"`
	Name        string        `json:"name,omitempty"`
	Peer        nid.ProcessID `json:"peer"`
	State       string        `json:"state"`
	Master      nid.NID       `json:"master"`
	Epoch       uint32        `json:"epoch"`
	// Since is how long ago the client was heard of, if this is its master, or
	// for how long it is orphaned or recovering.
	Since time.Duration `json:"since_ns,omitempty"`
}

// ServerStatus is the state of a server.
type ServerStatus struct {
	Self       nid.NID `json:"self"`
	Quorum     bool    `json:"quorum"`
	Draining   bool    `json:"draining"`
	Clients    int     `json:"clients"`
	Mastered   int     `json:"mastered"` // clients whose master this is
	Orphaned   int     `json:"orphaned"`
	Recovering int     `json:"recovering"`
	Evicting   int     `json:"evicting"`
	Waiting    int     `json:"waiting"` // connects, for an eviction
	Tombstones int     `json:"tombstones"`
	Batches    int     `json:"batches"` // of evictions that are not everywhere
	ClaimKeys  int     `json:"claim_keys"`
	// Keys that connects are verified with, and what each has verified since it was set.
	Keys     int       `json:"connect_keys"`
	Verified [2]uint64 `json:"connect_keys_verified"`
}

// Stats returns the counters so far.
func (s *Server) Stats() ServerStats { return s.stats }

// Quorum reports whether this server has a quorum.
func (s *Server) Quorum() bool { return s.quorum.have }

// Clients lists the clients by their ids.
func (s *Server) Clients() []ClientInfo {
	list, _ := s.List(s.table.count, func(*ClientInfo) bool { return true })
	return list
}

// List lists the first clients that match, by their ids, at most limit of them, and
// counts all that do. It takes memory for twice the limit.
func (s *Server) List(limit int, match func(*ClientInfo) bool) (list []ClientInfo, matching int) {
	byID := func(a, b ClientInfo) int { return a.Client.Compare(b.Client) }
	list = make([]ClientInfo, 0, min(limit, s.table.count))
	full := false // then the last one of the first limit bounds all that are of use
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

// Client tells about one client; false if it is not connected.
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
		Tombstones: len(s.tombstones.incarnations), Batches: len(s.evictions.batches), ClaimKeys: len(s.claims),
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
