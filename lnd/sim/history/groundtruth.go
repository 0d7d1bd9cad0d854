package history

import (
	"maps"
	"math"
	"slices"
	"strings"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// groundTruth has the faults in a log, by node and time.
type groundTruth struct {
	end    int64 // time of the log's last record
	nodes  map[sim.NodeID]*nodeHistory
	states []netState // states of the network, ordered by time
}

type nodeHistory struct {
	incarnations []span
	pauses       []span
}

// span is a stretch of time; to is forever for one that has not ended.
type span struct {
	from, to    int64
	incarnation uint32
	begin, end  int32 // indexes of the first and last record; -1: none
}

const forever = math.MaxInt64

// netState has the partitions, cuts and losses that separate nodes from an instant on.
type netState struct {
	at     int64
	groups []sim.NodeSet // groups of the partition; empty: there is none
	cuts   []arrow
	losses []loss // changes of the loss of links, of which the last one counts
}

// loss says which links lose every message.
type loss struct {
	arrow
	all bool
}

type arrow struct{ from, to sim.NodeSet }

func (a *arrow) has(from, to sim.NodeID) bool { return a.from.Has(from) && a.to.Has(to) }

// groundTruthOf computes from l what faults were made.
func groundTruthOf(l *Log) *groundTruth {
	t := &groundTruth{end: l.last, nodes: map[sim.NodeID]*nodeHistory{}, states: []netState{{}}}
	for i := range l.len {
		if e := l.entry(i); e.kind.isGroundTruth() {
			t.note(int32(i), e, l.texts[e.text])
		}
	}
	return t
}

func (t *groundTruth) note(i int32, e *entry, text string) {
	switch e.kind {
	case Start:
		n := t.node(e.node)
		n.incarnations = append(n.incarnations, span{from: e.at, to: forever, incarnation: e.incarnation, begin: i, end: -1})
	case Kill, Crash:
		n := t.node(e.node)
		finish(n.incarnations, e.at, i)
		finish(n.pauses, e.at, i)
	case Pause:
		n := t.node(e.node)
		n.pauses = append(n.pauses, span{from: e.at, to: forever, incarnation: e.incarnation, begin: i, end: -1})
	case Resume:
		finish(t.node(e.node).pauses, e.at, i)
	case Partition, Cut, Heal, Links, LinksReset:
		t.states = append(t.states, t.states[len(t.states)-1].next(e.at, e.kind, text))
	}
}

func (t *groundTruth) node(id sim.NodeID) *nodeHistory {
	n := t.nodes[id]
	if n == nil {
		n = &nodeHistory{}
		t.nodes[id] = n
	}
	return n
}

// sorted returns the nodes of which the log has a start or a fault, in order.
func (t *groundTruth) sorted() []sim.NodeID { return slices.Sorted(maps.Keys(t.nodes)) }

// finish ends the last span of the list, at the instant at and with the record i, unless it has
// ended already.
func finish(list []span, at int64, i int32) {
	if n := len(list); n > 0 && list[n-1].end < 0 {
		list[n-1].to, list[n-1].end = at, i
	}
}

// next returns the state after a change of the network. If the text of the change cannot be
// parsed, only the instant changes.
func (s netState) next(at int64, kind Kind, text string) netState {
	s.at = at
	switch kind {
	case Partition:
		s.groups = nil
		for part := range strings.SplitSeq(text, "|") {
			if set, err := parseSet(part); err == nil {
				s.groups = append(s.groups, set)
			}
		}
	case Heal:
		s.groups, s.cuts = nil, nil
	case LinksReset:
		s.losses = nil
	case Cut, Links:
		from, rest, _ := strings.Cut(text, "->")
		words := strings.Fields(rest)
		if len(words) == 0 {
			return s
		}
		a, err1 := parseSet(from)
		b, err2 := parseSet(words[0])
		switch {
		case err1 != nil || err2 != nil:
		case kind == Cut:
			s.cuts = append(s.cuts[:len(s.cuts):len(s.cuts)], arrow{a, b})
		default:
			if all, ok := lossOf(words[1:]); ok {
				s.losses = append(s.losses[:len(s.losses):len(s.losses)], loss{arrow{a, b}, all})
			}
		}
	}
	return s
}

// lossOf returns whether links lose all messages after a change of their quality; ok is false if the
// change does not concern loss.
func lossOf(change []string) (all, ok bool) {
	c, err := link.ParseChange(change)
	return c.To.Loss == 1, err == nil && c.Fields&link.FieldLoss != 0
}

func parseSet(text string) (sim.NodeSet, error) {
	return sim.ParseNodes(strings.TrimSpace(text), math.MaxInt32)
}

// separated reports whether nothing gets from one node to another.
func (s *netState) separated(from, to sim.NodeID) bool {
	if from == to {
		return false
	}
	if s.group(from) != s.group(to) {
		return true
	}
	for _, c := range s.cuts {
		if c.has(from, to) {
			return true
		}
	}
	for _, l := range slices.Backward(s.losses) {
		if l.has(from, to) {
			return l.all
		}
	}
	return false
}

// group is the side of a partition on which a node is; 0 if it is named in none.
func (s *netState) group(id sim.NodeID) int {
	for i := len(s.groups) - 1; i >= 0; i-- {
		if s.groups[i].Has(id) {
			return i + 1
		}
	}
	return 0
}

// incarnation returns the incarnation that a node was in or, if it was down, had been in
// last; nil before the first.
func (t *groundTruth) incarnation(id sim.NodeID, at int64) *span {
	n := t.nodes[id]
	if n == nil {
		return nil
	}
	for i := len(n.incarnations) - 1; i >= 0; i-- {
		if n.incarnations[i].from <= at {
			return &n.incarnations[i]
		}
	}
	return nil
}

// lived reports whether a node was in one incarnation from an instant to another.
func (t *groundTruth) lived(id sim.NodeID, from, to int64) bool {
	s := t.incarnation(id, from)
	return s != nil && s.to > to
}

// ran reports whether a node was in one incarnation from one instant to another, and was never
// paused in between.
func (t *groundTruth) ran(id sim.NodeID, from, to int64) bool {
	return t.lived(id, from, to) && !slices.ContainsFunc(t.nodes[id].pauses, func(p span) bool { return p.from <= to && p.to > from })
}

// connected reports whether nothing separated two nodes, either way, from one
// instant to another.
func (t *groundTruth) connected(a, b sim.NodeID, from, to int64) bool {
	for i := range t.states {
		s := &t.states[i]
		last := i == len(t.states)-1
		if s.at > to || !last && t.states[i+1].at < from {
			continue
		}
		if s.separated(a, b) || s.separated(b, a) {
			return false
		}
	}
	return true
}
