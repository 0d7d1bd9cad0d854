package engine

import (
	"cmp"
	"slices"
	"time"

	"ulnet/lnet/machine"
)

// graveyard remembers groups that are no longer in the table: those that have ended
// (tombstones), so that a late message does not bring them back, or those that made
// room for others (ghosts, as in caches with a ghost list), so that a request is not
// run twice because the group was forgotten in between. It is a queue for strangers'
// groups and one for all others, which leave each other alone: a stranger's floods
// make nobody else's groups be forgotten.
type graveyard struct {
	of     map[groupKey]*tombstone
	queues [2][]*tombstone // the oldest first; with some that were removed
}

type tombstone struct {
	key   groupKey
	at    time.Duration // when it is forgotten
	roots []rootState   // what is known of the group's roots, of a ghost
}

// mostTombstones bounds the queue of a graveyard.
func mostTombstones(stranger int) int { return maxTombstones >> (2 * stranger) }

const (
	ghostRoots = 8 // of a group that made room, the latest
	ghostRuns  = 8 // of each of these, the latest
)

func (y *graveyard) init() { y.of = make(map[groupKey]*tombstone) }

// has reports whether a group is remembered.
func (y *graveyard) has(key groupKey) bool { return y.of[key] != nil }

// roots returns what is known of a group's roots.
func (y *graveyard) roots(key groupKey) []rootState {
	if e := y.of[key]; e != nil {
		return e.roots
	}
	return nil
}

// add remembers a group. The oldest one makes room.
func (y *graveyard) add(g *group, roots []rootState, until time.Duration) {
	stranger := 0
	if g.stranger || g.lru.class == ofStrangers {
		stranger = 1
	}
	q := &y.queues[stranger]
	if len(*q) >= mostTombstones(stranger) {
		y.shift(q)
	}
	e := &tombstone{g.key, until, roots}
	y.of[g.key] = e
	*q = append(*q, e)
}

// shift forgets the oldest of a queue.
func (y *graveyard) shift(q *[]*tombstone) {
	if e := (*q)[0]; y.of[e.key] == e {
		delete(y.of, e.key)
	}
	(*q)[0] = nil
	*q = (*q)[1:]
}

// remove forgets a group.
func (y *graveyard) remove(key groupKey) { delete(y.of, key) }

// forget ends what is remembered for no longer.
func (y *graveyard) forget(now time.Duration) {
	for i := range y.queues {
		for q := &y.queues[i]; len(*q) > 0 && (*q)[0].at <= now; {
			y.shift(q)
		}
	}
}

func (y *graveyard) wake() time.Duration {
	at := machine.Never
	for _, q := range y.queues {
		if len(q) > 0 {
			at = min(at, q[0].at)
		}
	}
	return at
}

// latest is what a ghost keeps of a group's roots: as much as duplicates on their way
// and further attempts of the same broadcasts need, and little enough to be kept for
// thousands of groups.
func latest(roots []rootState) []rootState {
	slices.SortStableFunc(roots, func(a, b rootState) int { return cmp.Compare(b.used, a.used) })
	roots = slices.Clone(roots[:min(len(roots), ghostRoots)])
	for i := range roots {
		s := &roots[i]
		s.runs = slices.Clone(s.runs[max(len(s.runs)-ghostRuns, 0):])
	}
	return roots
}
