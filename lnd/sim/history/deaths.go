package history

import "time"

// NoResurrection: a node is told of the Death of a subject after the subject's incarnation has really
// ended. It must then not be told of a Join of the subject before the subject has begun a new
// incarnation.
func NoResurrection(l *Log) []Violation {
	f := findings{rule: "NoResurrection", log: l}
	t := groundTruthOf(l)
	list := pickMembers(l)
	l.order(list, bySubject)
	for told := range l.groups(list, bySubject) {
		var dead *span // the incarnation that had ended when the death was reported
		death := int32(-1)
		for _, i := range told {
			e := l.entry(int(i))
			switch {
			case e.kind == Death:
				dead, death = nil, i
				if s := t.incarnation(e.subject, e.at); s != nil && s.to <= e.at {
					dead = s
				}
			case e.kind == Join && dead != nil:
				if s := t.incarnation(e.subject, e.at); s.from == dead.from && s.incarnation == dead.incarnation {
					f.add([]int32{dead.end, death, i}, "node %v was told that node %v joined, which is dead", e.node, e.subject)
				}
				dead = nil
			}
		}
	}
	return f.list
}

// NoFalse checks that no observer is told of the Death of a healthy node. A node is healthy for
// an observer if, throughout a grace period that ends with this report, each of the two has run
// in one incarnation without a pause, and nothing has separated them. A detector may need the
// grace period to notice that a fault has ended.
func NoFalse(l *Log, grace time.Duration) []Violation {
	f := findings{rule: "NoFalse", log: l}
	t := groundTruthOf(l)
	for _, i := range pick(l, Death) {
		e := l.entry(int(i))
		from := max(e.at-int64(grace), 0)
		if t.ran(e.subject, from, e.at) && t.ran(e.node, from, e.at) && t.connected(e.node, e.subject, from, e.at) {
			f.add([]int32{t.incarnation(e.subject, from).begin, i}, "node %v was told that node %v died, which runs and is connected for %v or longer",
				e.node, e.subject, grace)
		}
	}
	return f.list
}
