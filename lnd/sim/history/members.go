package history

import (
	"slices"

	"ulnet/lnd/sim"
)

// pickMembers returns the indexes of membership records.
func pickMembers(l *Log) []int32 { return pick(l, Join, Leave, Death, Eviction) }

// Alternation: the reports about a subject in one incarnation of a node are a Join, then a
// Leave, Death or Eviction, then a Join again, and so on.
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

// Agreement: the observers that run at the end of the log have the same members then, by the
// joins and ends that their incarnations reported. It reports each observer whose members
// differ from the most common ones.
func Agreement(l *Log, observers sim.NodeSet) []Violation {
	f := findings{rule: "Agreement", log: l}
	t := groundTruthOf(l)
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

// mostCommon returns the first of the nodes whose view is the most common one.
func mostCommon(nodes []sim.NodeID, views map[sim.NodeID][]sim.NodeID) (best sim.NodeID, ok bool) {
	most, count := 0, map[string]int{}
	members := func(id sim.NodeID) string { return sim.Nodes(views[id]...).String() }
	for _, id := range nodes {
		count[members(id)]++
	}
	for _, id := range nodes {
		if n := count[members(id)]; n > most {
			best, most, ok = id, n, true
		}
	}
	return best, ok
}

// disagree reports that node id and node model, whose view is the most common one, know different
// members. It shows the last records of both nodes about the first member in which they differ.
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
			return NoNode, false
		case i == len(a), i < len(b) && b[i] < a[i]:
			return b[i], false
		case i == len(b), a[i] < b[i]:
			return a[i], true
		}
	}
}
