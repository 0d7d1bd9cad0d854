package engine

import (
	"sort"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

const (
	// maxKnown is the number of tombstones up to which a server remembers the name and process of
	// each client. Further tombstones have no name and no process, so that memory stays bounded.
	maxKnown = 1 << 16
	// listStep is how many tombstones one step of a list has; between steps the server handles
	// messages.
	listStep = 4096
)

// known is what the server remembers of an evicted client besides its id and incarnation.
type known struct {
	name string
	peer nid.ProcessID
}

// TombstoneInfo describes a tombstone: the server refuses Incarnation of the client, and all
// earlier ones.
type TombstoneInfo struct {
	Client      wire.ClientID `json:"client"`      // the evicted client
	Incarnation uint64        `json:"incarnation"` // the highest incarnation that is refused
	// Name and Peer are those of the connection that the eviction ended at this server. They are
	// zero if this server did not have that connection, or has been restarted since.
	Name string        `json:"name,omitempty"`
	Peer nid.ProcessID `json:"peer,omitzero"` // the process from which the client sent
	Age  time.Duration `json:"age_ns"`        // time since the eviction, in nanoseconds
	Left time.Duration `json:"left_ns"`       // time until the tombstone expires, in nanoseconds
	// Server is the server that ordered the eviction. It is zero if this server evicted the client
	// itself, or learned of the eviction before its restart or by read repair.
	Server nid.NID `json:"server,omitzero"`
	// Withdrawn means that the tombstone refuses nothing: the eviction was withdrawn, or this server has dropped it
	// when it lost its quorum, and keeps the tombstone because it knows of a withdrawal. If an earlier incarnation is
	// refused, its tombstone has an entry of its own.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// know is called when a connection has ended because the client was evicted or has left, and the given incarnation, which
// may be later than the connected one, has got a tombstone. It records that, which of the two happened, and, if there is
// room, the client's name and process.
func (t *tombstones) know(c *conn, incarnation uint64, cause wire.Cause) {
	g, ok := t.of(c.id, incarnation)
	if !ok { // there was no room for it
		return
	}
	g.here = true
	if g.left = cause == wire.Left && incarnation == c.incarnation; len(t.incarnations) <= maxKnown {
		g.known = &known{c.name, c.peer}
	}
	t.set(c.id, g)
}

// before calls f for up to listStep tombstones that expire before the time in the parameter until;
// those that expire last come first. It also calls f for all further tombstones that expire at the
// same instant as the last of these. Of a client it reports the tombstone of the latest incarnation and, if that refuses
// nothing, also the one that does. The result next is the value of until for the next call, and
// more tells whether there are more tombstones.
func (t *tombstones) before(until time.Duration, f func(wire.ClientID, *tombstone)) (next time.Duration, more bool) {
	k := sort.Search(len(t.queue), func(i int) bool { return t.queue[i].until >= until })
	run := map[wire.ClientID]bool{} // clients of tombstones that expire at one instant; the queue may have a client twice for that instant
	for seen := 0; k > 0; seen++ {
		p := t.queue[k-1]
		if k--; p.until != until {
			if seen >= listStep {
				return until, true
			}
			clear(run)
			until = p.until
		}
		if run[p.id] || !t.current(p) {
			continue
		}
		run[p.id] = true
		g := t.incarnations[p.id]
		if g.until == p.until {
			f(p.id, &g)
		}
		if b, ok := t.refusing(p.id); ok && b.incarnation != g.incarnation && b.until == p.until {
			f(p.id, &b)
		}
	}
	return until, false
}

// TombstonesBefore calls f for some tombstones that expire before the time in the parameter until;
// those that expire last come first. The result next is the value of until for the next call, and
// more tells whether there are more tombstones. The first call has [machine.Never]. Between calls
// the server can handle messages.
func (s *Server) TombstonesBefore(until time.Duration, f func(*TombstoneInfo)) (next time.Duration, more bool) {
	return s.tombstones.before(until, func(id wire.ClientID, g *tombstone) {
		left := g.until - s.now
		if left <= 0 {
			return // the tombstone has expired, and will be removed at the next tick
		}
		info := TombstoneInfo{Client: id, Incarnation: g.incarnation, Age: s.cfg.tombstone() - left, Left: left, Withdrawn: g.void}
		if g.known != nil {
			info.Name, info.Peer = g.known.name, g.known.peer
		}
		if g.from >= 0 {
			info.Server = s.members.nid(g.from)
		}
		f(&info)
	})
}

// Buried returns the highest incarnation of a client that its tombstone refuses (CH-65), and
// false if there is no tombstone.
func (s *Server) Buried(id wire.ClientID) (incarnation uint64, ok bool) {
	return s.tombstones.covers(id, 0)
}
