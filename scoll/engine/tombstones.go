package engine

import (
	"cmp"
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// graveyard remembers groups that have left the table. Ended groups (tombstones) are kept so
// that a late message does not bring them back. Groups that the cache has evicted (ghosts, as in
// caches with a ghost list), and out-of-band groups after their last broadcast, are kept so that a
// repeated request is recognized, and does not run twice, although its group has left the table
// meanwhile. Strangers' groups have a queue of their own: a flood of them does not make the node
// forget other groups.
type graveyard struct {
	of     map[groupKey]*tombstone
	queues [2][]*tombstone // tombstones, the oldest first, also some that the map does not have any more
}

type tombstone struct {
	key   groupKey
	at    time.Duration // when the entry expires
	roots []rootState   // of a ghost: the roots of its group
	runs  []run         // likewise
}

// mostTombstones bounds the queue of a graveyard.
func mostTombstones(stranger int) int { return maxTombstones >> (2 * stranger) }

const (
	ghostRoots = 8  // number of the latest roots kept in a ghost
	ghostRuns  = 64 // number of runs kept in a ghost
)

func (y *graveyard) init() { y.of = make(map[groupKey]*tombstone) }

// has reports whether a group is remembered.
func (y *graveyard) has(key groupKey) bool { return y.of[key] != nil }

// add remembers a group, with the roots and runs of e. If its queue is full the oldest entry is dropped.
func (y *graveyard) add(g *group, e tombstone, until time.Duration) {
	stranger := 0
	if g.stranger || g.lru.class == ofStrangers {
		stranger = 1
	}
	q := &y.queues[stranger]
	if len(*q) >= mostTombstones(stranger) {
		y.shift(q)
	}
	e.key, e.at = g.key, until
	y.of[g.key] = &e
	*q = append(*q, &e)
}

// shift removes the oldest entry of a queue.
func (y *graveyard) shift(q *[]*tombstone) {
	if e := (*q)[0]; y.of[e.key] == e {
		delete(y.of, e.key)
	}
	(*q)[0] = nil
	*q = (*q)[1:]
}

// remove removes a group from the graveyard.
func (y *graveyard) remove(key groupKey) { delete(y.of, key) }

// forget drops entries that have expired.
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

// latest returns the part of a group's roots that a ghost keeps: enough to detect duplicates
// under way and further attempts, and small enough for thousands of groups.
func latest(roots []rootState) []rootState {
	slices.SortStableFunc(roots, func(a, b rootState) int { return cmp.Compare(b.used, a.used) })
	return slices.Clone(roots[:min(len(roots), ghostRoots)])
}

// latestRuns returns the runs that a ghost keeps. Parents take turns, and so do the roots of each parent: neither a
// parent nor a root can push out the latest runs of others. The order of the runs stays.
func latestRuns(runs []run) []run {
	if len(runs) <= ghostRuns {
		return slices.Clone(runs)
	}
	order := make([]int, 0, len(runs)) // indices, the latest run first
	for i := range slices.Backward(runs) {
		order = append(order, i)
	}
	type origin struct{ parent, root nid.NID }
	takeTurns(order, func(i int) origin { return origin{runs[i].parent, runs[i].root} })
	takeTurns(order, func(i int) nid.NID { return runs[i].parent })
	order = order[:ghostRuns]
	slices.Sort(order)
	kept := make([]run, 0, ghostRuns)
	for _, i := range order {
		kept = append(kept, runs[i])
	}
	return kept
}
