package engine

import (
	"slices"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// tombstones are the incarnations of clients that must not connect again (CH-65).
type tombstones struct {
	incarnations map[wire.ClientID]tombstone // tombstone of the latest incarnation of each client; its field taken has the earlier ones
	queue        []slot                      // clients and times, in the order in which their tombstones expire
	compactAt    int                         // length of the queue from which on outdated entries are dropped
	max          int
	counts       [shares]int32 // number of clients whose latest tombstone is in each group of NIDs, see shareOf
}

type tombstone struct {
	incarnation uint64
	until       time.Duration // active time at which the tombstone expires
	said        time.Duration // active time at which another server ordered the tombstone
	epoch       uint32        // epoch of the choice of a master that the eviction ended, 24 bits
	from        int32         // number of the server that ordered the eviction; noSlot: no other server did, so none can withdraw it; see also unnamed
	known       *known        // name and process of the client; nil: not known or not kept
	taken       *withdrawals  // withdrawals of evictions of the incarnation, and tombstones of earlier incarnations; nil: there are none
	noChoice    time.Duration // active time at which a tombstone of this incarnation that names no choice of a master expires, see noChoiceTold; 0: there is none
	by          uint16        // group of NIDs, by shareOf, to which the client's node belongs
	void        bool          // the eviction does not count any more: the tombstone refuses nothing
	left        bool          // the client has disconnected from this server
	here        bool          // the eviction, or the farewell, ended a connection to this server, of this incarnation or of an earlier one
}

// unnamed is the value of tombstone.from if another server ordered the eviction, and this server does
// not know which one: it has the tombstone from its store or by read repair.
const unnamed = noSlot - 1

// slot is an entry of the queue of tombstones. If none of its client's tombstones expires
// at its time, the entry is outdated. The queue has an entry for each tombstone.
type slot struct {
	id    wire.ClientID
	until time.Duration
}

func (t *tombstones) init(limit int) {
	t.incarnations, t.max = make(map[wire.ClientID]tombstone), limit
}

// covers returns the highest incarnation that the client's tombstones refuse, and true if they refuse
// the given incarnation.
func (t *tombstones) covers(id wire.ClientID, incarnation uint64) (uint64, bool) {
	g, ok := t.refusing(id)
	return g.incarnation, ok && g.incarnation >= incarnation
}

// bury adds a tombstone for a client, or replaces that of the same incarnation. The client's NID is in the parameter
// named of; it is zero if it is not known. The parameter connected is the incarnation in which the client is connected
// here, or 0. The result is how many other tombstones were removed to make room.
func (t *tombstones) bury(id wire.ClientID, incarnation uint64, until time.Duration, of nid.NID, connected uint64) (forgot uint64) {
	return t.add(id, tombstone{incarnation: incarnation, until: until}, of, connected)
}

// add adds the tombstone g, as bury does. It may be void.
func (t *tombstones) add(id wire.ClientID, g tombstone, of nid.NID, connected uint64) (forgot uint64) {
	old, _ := t.of(id, g.incarnation)
	g.until, g.from, g.noChoice, g.taken = max(g.until, old.until), noSlot, old.noChoice, old.taken
	g.known, g.by, g.left, g.here = old.known, old.by, old.left, old.here
	if of.IsValid() {
		g.by = shareOf(of)
	}
	t.insert(id, g, connected)
	t.queue = append(t.queue, slot{id, g.until})
	for len(t.incarnations) > t.max {
		forgot += t.relieve()
	}
	if len(t.queue) > t.compactAt {
		t.compact()
	}
	return forgot
}

// restoreTombstone adds a tombstone that was stored before a restart. The store may have several tombstones of one
// incarnation: the one for the latest choice of a master counts, until its eviction is withdrawn.
func (s *Server) restoreTombstone(in *ServerInput) {
	left := min(in.For, s.cfg.tombstone()) // For is too long if the wall clock was put back after the tombstone was stored
	old, had := s.tombstones.of(in.Client, in.Incarnation)
	e := wire.Entry{Client: in.Client, Incarnation: in.Incarnation, Epoch: in.Epoch}
	s.stats.Forgotten += s.tombstones.bury(e.Client, e.Incarnation, s.now+left, nid.NID{}, 0)
	s.said(&e, unnamed, s.now+left-s.cfg.tombstone())
	if had && (e.Before(old.epoch) || e.Epoch == 0) {
		e.Epoch = old.epoch
		s.said(&e, unnamed, old.said)
	}
}

// expire removes expired tombstones.
func (t *tombstones) expire(now time.Duration) {
	for len(t.queue) > 0 && t.queue[0].until <= now {
		t.pop()
	}
}

// pop removes the first entry of the queue, and its tombstones unless the entry is outdated. A tombstone that refers to the
// entry by noChoice stays, without that. The result is how many tombstones it removed.
func (t *tombstones) pop() (removed int) {
	p := t.queue[0]
	t.queue = t.queue[1:]
	if t.current(p) {
		list := t.list(p.id)
		removed = len(list)
		list = slices.DeleteFunc(list, p.ends)
		removed -= len(list)
		for k := range list {
			if list[k].noChoice == p.until {
				list[k].noChoice = 0
			}
		}
		t.keep(p.id, list)
	}
	return removed
}

// current reports whether the entry p of the queue is not outdated: a tombstone of its client expires at the time of
// p, or may do so once its eviction is withdrawn, see noChoice.
func (t *tombstones) current(p slot) bool {
	g, ok := t.incarnations[p.id]
	ends := func(b tombstone) bool { return p.ends(b) || p.until == b.noChoice }
	return ok && (ends(g) || slices.ContainsFunc(g.taken.before(), ends))
}

// ends reports whether the entry is that of the tombstone g.
func (p slot) ends(g tombstone) bool { return g.until == p.until }

// compact drops outdated entries, so that evicting one client over and over costs no memory.
func (t *tombstones) compact() {
	kept := make([]slot, 0, len(t.incarnations)+64)
	for i, p := range t.queue {
		if t.current(p) && (i+1 == len(t.queue) || t.queue[i+1] != p) {
			kept = append(kept, p)
		}
	}
	t.queue, t.compactAt = kept, 2*len(kept)+64
}
