package gossipsim

import (
	"iter"
	"time"

	"ulnet/lnd/sim"
)

// opens reports whether news gets from one node to another, directly or through nodes that are fine.
func (w *paths) opens(from, to sim.NodeID) bool {
	return w.class == nil || w.open[w.class[from]][w.class[to]]
}

// eras yields the eras of which a part lies after an instant, the oldest first, the present one included.
func (l *links) eras(since, now time.Duration) iter.Seq[era] {
	return func(yield func(era) bool) {
		for _, e := range l.past {
			if e.ended > since && !yield(e) {
				return
			}
		}
		yield(era{l.paths, l.began, now})
	}
}

// reached reports whether news that a node sent after the instant since can have reached an observer: directly, or
// over nodes that passed it on, perhaps in different eras.
func (l *links) reached(id, observer sim.NodeID, since, now time.Duration) bool {
	has := make([]bool, len(l.fine)) // by node: whether it can have the news
	has[id] = true
	for e := range l.eras(since, now) {
		if e.class == nil {
			return true
		}
		for from := range has {
			for to := range has {
				has[to] = has[to] || has[from] && e.opens(sim.NodeID(from), sim.NodeID(to))
			}
		}
	}
	return has[observer]
}

// rejoined reports whether two nodes have come together again after the instant since: they have paths in both
// directions, and before that there was no path in at least one direction for longer than l.limit.
func (l *links) rejoined(a, b sim.NodeID, since, now time.Duration) bool {
	apart := time.Duration(0)
	for e := range l.eras(since-l.limit, now) {
		switch {
		case !e.opens(a, b) || !e.opens(b, a):
			apart += e.ended - e.began
		case apart > l.limit && e.began > since:
			return true
		default:
			apart = 0
		}
	}
	return false
}

// moved reports whether, since an instant, a node has rejoined at least half of all nodes, or of the others that are fine
// now. Then the node was in one of the smaller parts of a partition, and takes over the clock of another part.
func (l *links) moved(id sim.NodeID, since, now time.Duration) bool {
	with, withFine, allFine := 0, 0, 0
	for i, fine := range l.fine {
		other := sim.NodeID(i)
		if fine && other != id {
			allFine++
		}
		if l.rejoined(id, other, since, now) {
			if with++; fine {
				withFine++
			}
		}
	}
	return withFine > 0 && (2*withFine >= allFine || 2*with >= len(l.fine))
}

// latestLoss returns when a node last failed or lost all paths to an observer. The result is never if
// that did not happen lately.
func (l *links) latestLoss(id, observer sim.NodeID, now time.Duration) time.Duration {
	at, had := l.failed[id], false
	for e := range l.eras(now-2*l.limit, now) {
		opens := e.opens(id, observer)
		if had && !opens && l.fine[id] {
			at = max(at, e.began)
		}
		had = opens
	}
	return at
}

// lost returns how many nodes an observer has lost (see latestLoss) less than l.limit before the latest loss,
// how many other nodes still have a path to it, and when the first and the latest of these losses were.
func (l *links) lost(observer sim.NodeID, now time.Duration) (count, left int, first, latest time.Duration) {
	first, latest = now, never
	losses := make([]time.Duration, len(l.fine))
	for i := range losses {
		losses[i] = l.latestLoss(sim.NodeID(i), observer, now)
		latest = max(latest, losses[i])
	}
	for i, at := range losses {
		switch {
		case at != never && latest-at < l.limit:
			count, first = count+1, min(first, at)
		case l.fine[i] && l.paths.opens(sim.NodeID(i), observer):
			left++
		}
	}
	return count, left, first, latest
}
