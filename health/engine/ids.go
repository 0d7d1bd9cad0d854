package engine

import (
	"hash/maphash"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// One node could fill the table with invented ids, so the number of clients of a NID is bounded.
// At that bound a new client is accepted only if it comes from the same NID and PID as a client
// that connected in an earlier incarnation of the node. The connection of that older client ends,
// because its process has ended with the restart of the node.

// byNID finds the clients of a NID. It is a hash table with chaining that takes only a few bytes
// per client, because there are very many clients. The order within a chain does not depend on
// the seed of the hash, so results do not depend on the seed either.
type byNID struct {
	heads  []int32   // first slot of each chain, plus 1; the length is a power of two
	chains [][]int32 // next slot after each slot in its chain, plus 1; in blocks, as connections are
	seed   maphash.Seed
}

// chainLength is the load factor at which the table grows.
const chainLength = 4

func (b *byNID) init() { b.heads, b.seed = make([]int32, 64), maphash.MakeSeed() }

func (b *byNID) head(id nid.NID) *int32 {
	return &b.heads[maphash.Comparable(b.seed, id)&uint64(len(b.heads)-1)]
}

// next returns the link of a slot to the next one in its chain.
func (b *byNID) next(i int32) *int32 { return &b.chains[i/blockSize][i%blockSize] }

// link adds a connection to the chain of its NID, and doubles the table when it is full.
func (s *Server) link(i int32) {
	b := &s.table.byNID
	if s.table.count > chainLength*len(b.heads) {
		b.heads = make([]int32, 2*len(b.heads))
		s.each(func(k int32, _ *conn) {
			if k != i {
				s.push(k)
			}
		})
	}
	s.push(i)
}

func (s *Server) push(i int32) {
	at := s.table.byNID.head(s.conn(i).peer.NID)
	*s.table.byNID.next(i), *at = *at, i+1
}

// unlink removes a connection from its hash chain.
func (s *Server) unlink(i int32) {
	at := s.table.byNID.head(s.conn(i).peer.NID)
	for *at != i+1 {
		at = s.table.byNID.next(*at - 1)
	}
	*at = *s.table.byNID.next(i)
}

// crowded refuses a client whose NID already has as many clients as it may have, unless it can
// displace one of these.
func (s *Server) crowded(q *asked) (r wire.Message, refused bool) {
	limit := s.cfg.MaxIDs
	if userProcess(q.from) {
		limit = s.cfg.MaxUserIDs
	}
	n, over := 0, int32(noSlot)
	for k := *s.table.byNID.head(q.from.NID); k > 0; k = *s.table.byNID.next(k - 1) {
		c := s.conn(k - 1)
		if !sameKind(c.peer, q.from) {
			continue
		}
		n++
		if c.peer == q.from && c.carrier != 0 && c.carrier < q.incarnation && c.state != saving {
			over = k - 1
		}
	}
	switch {
	case n < limit:
		return r, false
	case over == noSlot:
		return wire.Message{Code: wire.Full, Retry: s.cfg.Evict}, true
	}
	return s.displace(over)
}

// displace ends the connection of a client whose process has restarted. If this server is that
// client's master, all servers must evict it first, and the new client's connect is refused
// until they have.
func (s *Server) displace(i int32) (r wire.Message, refused bool) {
	switch c := s.conn(i); {
	case c.state == evicting:
	case c.state == connected && s.ours(c):
		s.stats.Displaced++
		s.evict(i, wire.TimedOut)
		s.evictions.urgent = true
	default:
		s.stats.Displaced++
		s.end(i, wire.TimedOut, false)
		return r, false
	}
	return wire.Message{Code: wire.Busy, Retry: s.cfg.Broadcast}, true
}

// userProcess reports whether a process is one of the many user processes that may run on a
// node.
func userProcess(id nid.ProcessID) bool { return id.PID&nid.UserPID != 0 }

// sameKind reports whether the clients of two processes are counted together.
func sameKind(a, b nid.ProcessID) bool { return a.NID == b.NID && userProcess(a) == userProcess(b) }
