package engine

import (
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// tombstones are the lives of clients that must not connect again (CH-65).
type tombstones struct {
	incarnations map[wire.ClientID]tombstone
	queue        []place // in the order in which lives are forgotten
	max          int
	counts       [shares]int32 // of lives, by shareOf
}

type tombstone struct {
	incarnation uint64
	until       time.Duration // active time
	said        time.Duration // active time when another server said so
	epoch       uint32        // of the choice that it spoke of, 24 bits
	from        int32         // that server; noPlace: nobody can take it back
	known       *known        // who the client was; nil: not known
	by          uint16        // shareOf the NID that the client had
	void        bool          // it was taken back: a late copy of what told it tells nothing
}

// somebody stands for a server that was not recorded.
const somebody = noPlace - 1

// place is where an incarnation was put into the queue. It was put there again later
// if that is not when it is to be forgotten.
type place struct {
	id    wire.ClientID
	until time.Duration
}

func (t *tombstones) init(limit int) {
	t.incarnations, t.max = make(map[wire.ClientID]tombstone), limit
}

// covers returns the highest incarnation that is buried, if that is not before one.
func (t *tombstones) covers(id wire.ClientID, incarnation uint64) (uint64, bool) {
	g, ok := t.incarnations[id]
	return g.incarnation, ok && !g.void && g.incarnation >= incarnation
}

// bury adds an incarnation of a client that had a NID, or was not known here, and returns how many
// others had to be forgotten for it.
func (t *tombstones) bury(id wire.ClientID, incarnation uint64, until time.Duration, of nid.NID) (forgot uint64) {
	g, ok := t.incarnations[id]
	if until = max(until, g.until); !ok || incarnation >= g.incarnation {
		g = tombstone{incarnation: incarnation, from: noPlace, known: g.known, by: g.by}
	}
	if g.until = until; of.IsValid() {
		g.by = shareOf(of)
	}
	t.put(id, g)
	t.queue = append(t.queue, place{id, until})
	for len(t.incarnations) > t.max {
		forgot += t.relieve()
	}
	if len(t.queue) > 2*len(t.incarnations)+64 {
		t.compact()
	}
	return forgot
}

// expire forgets what is over.
func (t *tombstones) expire(now time.Duration) {
	for len(t.queue) > 0 && t.queue[0].until <= now {
		t.pop()
	}
}

// pop drops the first place, and its incarnation unless that has a later place.
func (t *tombstones) pop() {
	p := t.queue[0]
	t.queue = t.queue[1:]
	if t.incarnations[p.id].until == p.until {
		t.remove(p.id)
	}
}

// compact drops places that were taken again, so that evicting one client over
// and over costs no memory.
func (t *tombstones) compact() {
	kept := make([]place, 0, len(t.incarnations)+64)
	for i, p := range t.queue {
		if t.incarnations[p.id].until == p.until && (i+1 == len(t.queue) || t.queue[i+1] != p) {
			kept = append(kept, p)
		}
	}
	t.queue = kept
}
