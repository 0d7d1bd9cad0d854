package history

import (
	"maps"
	"slices"

	"ulnet/lnd/sim"
)

// ExactFailureSet checks each Completion: a node must report as Unreached exactly those members
// that had no Delivery before. A member that had the Delivery may be reported or not if, between
// the first record of the message and the Completion, its incarnation ended or it was paused or
// separated from the sender. The sender itself counts as reached.
func ExactFailureSet(l *Log, members sim.NodeSet) []Violation {
	f := findings{rule: "ExactFailureSet", log: l}
	t := groundTruthOf(l)
	nodes := slices.DeleteFunc(t.sorted(), func(id sim.NodeID) bool { return !members.Has(id) })
	list := pick(l, Send, Delivery, Unreached, Completion)
	l.order(list, byMessage)
	for message := range l.groups(list, byMessage) {
		f.reported(t, message, nodes)
	}
	return f.list
}

// operation is what a log says of one message.
type operation struct {
	sender     sim.NodeID
	value      uint64
	begin      int64
	first      int32 // index of the first record of the operation
	completion int32
	reached    map[sim.NodeID]int32 // by node reached: index of the record that says so
	unreached  map[sim.NodeID]int32
}

func (f *findings) reported(t *groundTruth, message []int32, members []sim.NodeID) {
	first := f.log.entry(int(message[0]))
	op := operation{
		sender: sim.NodeID(first.sender()), value: first.value, begin: first.at, first: message[0], completion: -1,
		reached: map[sim.NodeID]int32{}, unreached: map[sim.NodeID]int32{},
	}
	for _, i := range message {
		switch e := f.log.entry(int(i)); e.kind {
		case Delivery:
			op.reached[e.node] = i
		case Unreached:
			op.unreached[e.subject] = i
		case Completion:
			op.completion = i
			f.compare(t, &op, members)
			return
		}
	}
}

func (f *findings) compare(t *groundTruth, op *operation, members []sim.NodeID) {
	end := f.log.entry(int(op.completion)).at
	for _, id := range members {
		delivered, got := op.reached[id]
		report, said := op.unreached[id]
		switch {
		case id == op.sender:
		case !got && !said:
			f.add([]int32{op.first, op.completion}, "node %v was not told of value %d of node %v, which does not report it", id, op.value, op.sender)
		case got && said && t.ran(id, op.begin, end) && t.connected(id, op.sender, op.begin, end):
			f.add([]int32{delivered, report, op.completion}, "node %v was told of value %d of node %v, which reports it as unreached", id, op.value, op.sender)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(op.unreached)) {
		if _, member := slices.BinarySearch(members, id); !member {
			f.add([]int32{op.unreached[id], op.completion}, "node %v is no member, and node %v reports it as unreached", id, op.sender)
		}
	}
}
