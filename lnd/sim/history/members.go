package history

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
