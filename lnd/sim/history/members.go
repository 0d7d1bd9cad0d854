package history

import (
	"fmt"
	"maps"
	"slices"

	"ulnet/lnd/sim"
)

// ends reports whether a kind ends a membership.
func (k Kind) ends() bool { return k == Leave || k == Death || k == Eviction }

// pickMembers returns the records of membership.
func pickMembers(l *Log, also ...Kind) []int32 {
	return pick(l, append([]Kind{Join, Leave, Death, Eviction}, also...)...)
}

// Alternation: what each incarnation of a node is told of each subject is a Join, then
// a Leave, Death or Eviction, then a Join again, and so on.
func Alternation(l *Log) []Violation {
	f := findings{rule: "Alternation", log: l}
	list := pickMembers(l)
	l.order(list, bySubject)
	for told := range l.groups(list, bySubject) {
		previous := int32(-1)
		for _, i := range told {
			e := l.entry(int(i))
			joined := previous >= 0 && l.entry(int(previous)).kind == Join
			switch {
			case e.kind == Join && joined:
				f.add([]int32{previous, i}, "node %v was told twice that node %v joined", e.node, e.subject)
			case e.kind != Join && !joined:
				f.add([]int32{previous, i}, "node %v was told of the %v of node %v, which was no member", e.node, e.kind, e.subject)
			}
			previous = i
		}
	}
	return f.list
}

// Agreement: those of some observers that run at the end of the log then have
// the same members, by the joins and ends that their lives were told of. It
// reports each that differs from what most have.
func Agreement(l *Log, observers sim.NodeSet) []Violation {
	f := findings{rule: "Agreement", log: l}
	t := truthOf(l)
	views := map[sim.NodeID][]sim.NodeID{}
	list := pickMembers(l)
	l.order(list, bySubject)
	for told := range l.groups(list, bySubject) {
		e := l.entry(int(told[len(told)-1]))
		if s := t.incarnation(e.node, t.end); e.kind == Join && s != nil && s.incarnation == e.incarnation {
			views[e.node] = append(views[e.node], e.subject)
		}
	}
	running := t.runningAtEnd(observers)
	model, ok := mostCommon(running, views)
	for _, id := range running {
		if ok && !slices.Equal(views[id], views[model]) {
			f.disagree(list, id, model, views)
		}
	}
	return f.list
}

// mostCommon returns the first node whose view most others share.
func mostCommon(nodes []sim.NodeID, views map[sim.NodeID][]sim.NodeID) (best sim.NodeID, ok bool) {
	type class struct {
		first sim.NodeID
		count int
	}
	var classes []*class
	byHash := map[uint64][]*class{}
	for _, id := range nodes {
		h := hashNodes(views[id])
		i := slices.IndexFunc(byHash[h], func(c *class) bool { return slices.Equal(views[c.first], views[id]) })
		if i < 0 {
			c := &class{first: id}
			byHash[h] = append(byHash[h], c)
			classes = append(classes, c)
			i = len(byHash[h]) - 1
		}
		byHash[h][i].count++
	}
	most := 0
	for _, c := range classes {
		if c.count > most {
			best, most, ok = c.first, c.count, true
		}
	}
	return best, ok
}

func hashNodes(list []sim.NodeID) uint64 {
	h := uint64(len(list))
	for _, id := range list {
		h = (h ^ uint64(id)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}

// disagree reports an observer and shows the last that it and the model were
// told of the first subject in which they differ.
func (f *findings) disagree(list []int32, id, model sim.NodeID, views map[sim.NodeID][]sim.NodeID) {
	subject, has := firstDifference(views[id], views[model])
	var show []int32
	for _, who := range []sim.NodeID{id, model} {
		last := int32(-1)
		for _, i := range list {
			if e := f.log.entry(int(i)); e.node == who && e.subject == subject {
				last = i
			}
		}
		show = append(show, last)
	}
	what := "has node %[2]v as a member"
	if !has {
		what = "lacks node %[2]v"
	}
	f.add(show, "node %[1]v "+what+", unlike node %[3]v, which agrees with most", id, subject, model)
}

// firstDifference returns the least node that is in one of two ordered lists
// only, and whether that is the first list.
func firstDifference(a, b []sim.NodeID) (node sim.NodeID, inA bool) {
	for i := 0; ; i++ {
		switch {
		case i == len(a) && i == len(b):
			return Nobody, false
		case i == len(a), i < len(b) && b[i] < a[i]:
			return b[i], false
		case i == len(b), a[i] < b[i]:
			return a[i], true
		}
	}
}

// Replay: a node that is asked for its members (View) says what the joins and
// ends add up to that its incarnation was told of until then.
func Replay(l *Log) []Violation {
	f := findings{rule: "Replay", log: l}
	list := pickMembers(l, View)
	l.order(list, byListener)
	for told := range l.groups(list, byListener) {
		last := map[sim.NodeID]int32{} // what the incarnation was told of each member
		for _, i := range told {
			switch e := l.entry(int(i)); {
			case e.kind == Join:
				last[e.subject] = i
			case e.kind.ends():
				delete(last, e.subject)
			default:
				f.replayed(i, last)
			}
		}
	}
	return f.list
}

// replayed compares a View with the members.
func (f *findings) replayed(i int32, members map[sim.NodeID]int32) {
	e, text := f.log.entry(int(i)), f.log.At(int(i)).Text
	said, err := viewNodes(text)
	if err != nil {
		f.add([]int32{i}, "the view of node %v makes no sense: %v", e.node, err)
		return
	}
	subject, inView := firstDifference(said, slices.Sorted(maps.Keys(members)))
	switch {
	case subject == Nobody:
	case inView:
		f.add([]int32{i}, "node %v says that node %v is a member, and was not told so", e.node, subject)
	default:
		f.add([]int32{members[subject], i}, "node %v does not say that node %v is a member, as it was told", e.node, subject)
	}
}

// maxView bounds the nodes that the text of a View may name.
const maxView = 1 << 24

// viewNodes returns the nodes of a View's text, in order.
func viewNodes(text string) ([]sim.NodeID, error) {
	if text == "" {
		return nil, nil
	}
	set, err := sim.ParseNodes(text, maxView)
	if err == nil && text == "all" {
		err = fmt.Errorf("want numbers and ranges, not all")
	}
	if err != nil {
		return nil, err
	}
	nodes := slices.Sorted(set.All(maxView))
	return slices.Compact(nodes), nil
}
