package gossipsim

import (
	"slices"
	"time"

	"ulnet/lnd/sim"
)

// links records between which nodes news can pass, directly or through other nodes, now and in
// the past.
type links struct {
	fine   []bool          // by node: it runs and sends messages, so news passes through it
	failed []time.Duration // by node: when it last ceased to be fine; never: it did not

	limit time.Duration // longest partition after which clocks are still in step
	sim.Cuts
	paths paths
	began time.Duration // time since when paths have been as they are
	past  []era         // eras that have ended, the oldest first; eras of the last 2*limit at least
}

// era is a period in which the paths did not change.
type era struct {
	paths
	began, ended time.Duration
}

// paths says between which nodes news can pass. Nodes that partitions and cuts treat alike
// are a class.
type paths struct {
	class  []int32  // class of each node; nil: all nodes are one class
	direct [][]bool // by pairs of classes: a message gets directly from one to the other
	fine   []int    // by class: number of its nodes that are fine
	open   [][]bool // by pairs of classes: news gets from one to the other, through nodes that are fine
}

func (l *links) init(nodes int, limit time.Duration) {
	l.fine, l.limit, l.failed = make([]bool, nodes), limit, slices.Repeat([]time.Duration{never}, nodes)
}

// partition replaces the partition; cuts of single links stay.
func (l *links) partition(sets []sim.NodeSet, now time.Duration) {
	l.Partition(len(l.fine), sets)
	l.change(now)
}

func (l *links) cut(from, to sim.NodeSet, now time.Duration) {
	l.Cut(from, to)
	l.change(now)
}

func (l *links) heal(now time.Duration) {
	l.Heal()
	l.change(now)
}

// relay records whether a node is fine, so that news passes through it.
func (l *links) relay(id sim.NodeID, fine bool, now time.Duration) {
	if l.fine[id] = fine; !fine {
		l.failed[id] = now
	}
	if l.paths.class == nil {
		return
	}
	c, by := l.paths.class[id], 1
	if !fine {
		by = -1
	}
	l.ends(now)
	l.paths.fine = slices.Clone(l.paths.fine)
	before := l.paths.fine[c]
	l.paths.fine[c] += by
	if before == 0 || before+by == 0 {
		l.paths.close()
	}
}

// change ends the current era and begins another.
func (l *links) change(now time.Duration) {
	l.ends(now)
	l.paths = paths{}
	if l.Some() {
		l.paths = l.classify()
	}
}

// ends ends the current era, and drops eras that ended too long ago to matter.
func (l *links) ends(now time.Duration) {
	l.past = slices.DeleteFunc(l.past, func(e era) bool { return e.ended < now-2*l.limit })
	l.past = append(l.past, era{l.paths, l.began, now})
	l.began = now
}

// classify returns the classes of the nodes and the paths between the classes.
func (l *links) classify() paths {
	w := paths{class: make([]int32, len(l.fine))}
	byKey, first := make(map[string]int32), []sim.NodeID(nil)
	for i := range l.fine {
		id := sim.NodeID(i)
		key := string(l.key(id))
		c, known := byKey[key]
		if !known {
			c = int32(len(first))
			byKey[key], first, w.fine = c, append(first, id), append(w.fine, 0)
		}
		if w.class[i] = c; l.fine[i] {
			w.fine[c]++
		}
	}
	w.direct = make([][]bool, len(first))
	for a, from := range first {
		w.direct[a] = make([]bool, len(first))
		for b, to := range first {
			w.direct[a][b] = !l.Apart(from, to)
		}
	}
	w.close()
	return w
}

// key returns a key that is equal for nodes that partition and cuts treat alike.
func (l *links) key(id sim.NodeID) (key []byte) {
	if l.Sides != nil {
		s := l.Sides[id]
		key = append(key, byte(s), byte(s>>8))
	}
	for _, c := range l.Pairs {
		for _, set := range []sim.NodeSet{c.From, c.To} {
			in := byte(0)
			if set.Has(id) {
				in = 1
			}
			key = append(key, in)
		}
	}
	return key
}

// close finds the paths through other nodes (Warshall's algorithm).
func (w *paths) close() {
	w.open = make([][]bool, len(w.direct))
	for a, row := range w.direct {
		w.open[a] = slices.Clone(row)
	}
	for over, fine := range w.fine {
		if fine == 0 {
			continue
		}
		for a := range w.open {
			if !w.open[a][over] {
				continue
			}
			for b, on := range w.open[over] {
				w.open[a][b] = w.open[a][b] || on
			}
		}
	}
}

// leads reports whether news of a node can reach an observer before the observer considers the node
// dead: there is a path, and the classes of both have enough links, see linked. A path alone is not
// enough: if only few links are left, news takes longer than among the same number of nodes without
// faults.
func (w *paths) leads(subject, observer sim.NodeID) bool {
	if w.class == nil {
		return true
	}
	from, to := w.class[subject], w.class[observer]
	return w.open[from][to] && w.linked(from) && w.linked(to)
}

// linked reports whether a node of a class is directly connected, in both directions, with at least half
// of the other nodes that it can reach, or that can reach it, by any path. The node is in its own class, and so
// is counted in both sums.
func (w *paths) linked(class int32) bool {
	directly, all := 0, 0
	for c, fine := range w.fine {
		if w.open[class][c] || w.open[c][class] {
			all += fine
		}
		if w.direct[class][c] && w.direct[c][class] {
			directly += fine
		}
	}
	return 2*directly > all
}

// apart reports whether news of a node cannot reach an observer, or could not at some time
// since an instant.
func (l *links) apart(subject, observer sim.NodeID, since time.Duration) bool {
	return !l.paths.leads(subject, observer) ||
		slices.ContainsFunc(l.past, func(e era) bool { return e.ended > since && !e.leads(subject, observer) })
}
