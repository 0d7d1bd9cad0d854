package gossip

import "ulnet/lnet/nid"

// state is the state of a participant that is reported to a user.
type state struct {
	alive     bool
	aliveness uint64
}

// change is the new state of a participant.
type change struct {
	nid nid.NID
	state
}

// changes are the changes that are still to be reported to a user. If a participant changes several times before the
// user is told, they have its latest state only. No death is lost: a participant that died and came back has another
// aliveness.
type changes struct {
	order  []nid.NID // participants with a change, in the order of their first change
	latest map[nid.NID]state
}

// Push adds a change (watch.Queue).
func (q *changes) Push(c change) {
	if _, waits := q.latest[c.nid]; !waits {
		q.order = append(q.order, c.nid)
	}
	q.latest[c.nid] = c.state
}

// Pop removes the first change (watch.Queue).
func (q *changes) Pop() change {
	c := change{q.order[0], q.latest[q.order[0]]}
	delete(q.latest, c.nid)
	if q.order = q.order[1:]; len(q.order) == 0 {
		q.order = nil
	}
	return c
}

// Len returns the number of changes (watch.Queue).
func (q *changes) Len() int { return len(q.order) }
