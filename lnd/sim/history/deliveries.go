package history

// AtMostOnce: no incarnation of a node has two records of the same Delivery.
func AtMostOnce(l *Log) []Violation {
	f := findings{rule: "AtMostOnce", log: l}
	list := pick(l, Delivery)
	l.order(list, byArrival)
	for same := range l.groups(list, byArrival) {
		if len(same) > 1 {
			e := l.entry(int(same[0]))
			f.add(same, "node %v was told %d times of value %d of node %v", e.node, len(same), e.value, e.subject)
		}
	}
	return f.list
}
