package engine

import (
	"sort"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

const (
	// maxKnown is up to how many tombstones a server remembers the name and the process
	// of each client; more tombstones have neither, so that their memory stays bounded.
	maxKnown = 1 << 16
	// listStep is how many tombstones are looked at before messages are served again.
	listStep = 4096
)

// known is who a buried client was.
type known struct {
	name string
	peer nid.ProcessID
}

// TombstoneInfo is a tombstone as a server has it: it refuses that incarnation of the client,
// and all before it.
type TombstoneInfo struct {
	Client      wire.ClientID `json:"client"`
	Incarnation uint64        `json:"incarnation"`
	// Name and Peer are those of the connection that ended here. They are zero where
	// this server did not have it: it was told of the eviction, or has been restarted.
	Name string        `json:"name,omitempty"`
	Peer nid.ProcessID `json:"peer,omitzero"`
	Age  time.Duration `json:"age_ns"`  // since the eviction
	Left time.Duration `json:"left_ns"` // until it is forgotten
	// Server is the one that has told this server of the eviction; zero: this server
	// evicted the client itself, or was told before its restart or by read repair.
	Server nid.NID `json:"server,omitzero"`
	// Withdrawn means that the eviction was taken back: nothing is refused.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// know notes who a client was that was just buried, while there is room for that.
func (t *tombstones) know(c *conn) {
	g, ok := t.incarnations[c.id]
	if !ok || len(t.incarnations) > maxKnown {
		return
	}
	g.known = &known{c.name, c.peer}
	t.incarnations[c.id] = g
}

// before calls f for tombstones that last for less than until, the latest first: for
// listStep of them, and all that end in the same instant as the last of these. It
// returns from where the next call goes on, and whether there are more.
func (t *tombstones) before(until time.Duration, f func(wire.ClientID, *tombstone)) (next time.Duration, more bool) {
	k := sort.Search(len(t.queue), func(i int) bool { return t.queue[i].until >= until })
	run := map[wire.ClientID]bool{} // of one instant: a client may have been buried twice in it
	for seen := 0; k > 0; seen++ {
		p := t.queue[k-1]
		if k--; p.until != until {
			if seen >= listStep {
				return until, true
			}
			clear(run)
			until = p.until
		}
		if g, ok := t.incarnations[p.id]; ok && g.until == p.until && !run[p.id] {
			run[p.id] = true
			f(p.id, &g)
		}
	}
	return until, false
}

// TombstonesBefore calls f for tombstones that last for less than until, the latest first,
// and returns from where the next call goes on, and whether there are more: it lists so
// many that messages can be served in between. Begin with [machine.Never].
func (s *Server) TombstonesBefore(until time.Duration, f func(*TombstoneInfo)) (next time.Duration, more bool) {
	return s.tombstones.before(until, func(id wire.ClientID, g *tombstone) {
		left := g.until - s.now
		if left <= 0 {
			return // until the next tick
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

// Buried returns the highest incarnation of a client that must not connect here again, as
// its tombstone says (CH-65); false if there is none.
func (s *Server) Buried(id wire.ClientID) (incarnation uint64, ok bool) {
	return s.tombstones.covers(id, 0)
}
