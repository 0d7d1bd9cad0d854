package history

import (
	"time"

	"ulnet/lnd/sim"
)

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

// ExactlyOnce: each message sent until an instant is delivered exactly once to each receiver.
// Receivers are those nodes of a set that ran in one incarnation from the sending to the end of
// the log, and are not paused then. A message without a Send counts from its first Delivery. The
// sender itself need not get the message. A message of a sender that died may be delivered to no
// receiver.
func ExactlyOnce(l *Log, to sim.NodeSet, until time.Duration) []Violation {
	f := findings{rule: "ExactlyOnce", log: l}
	t := groundTruthOf(l)
	list := pick(l, Send, Delivery)
	receivers := t.runningAtEnd(to)
	l.order(list, byMessage)
	for message := range l.groups(list, byMessage) {
		f.delivered(t, message, receivers, int64(until))
	}
	return f.list
}

// runningAtEnd returns the nodes of a set that run at the end, in order.
func (t *groundTruth) runningAtEnd(set sim.NodeSet) []sim.NodeID {
	var list []sim.NodeID
	for _, id := range t.sorted() {
		if set.Has(id) && t.ran(id, t.end, t.end) {
			list = append(list, id)
		}
	}
	return list
}

// delivered checks one message, given by its Sends and Deliveries in order.
func (f *findings) delivered(t *groundTruth, message []int32, receivers []sim.NodeID, until int64) {
	l := f.log
	first := l.entry(int(message[0]))
	sender, sent, value := sim.NodeID(first.sender()), first.at, first.value
	if sent > until {
		return
	}
	arrivals := map[sim.NodeID][]int32{} // by node: indexes of the deliveries of its last incarnation
	any := false
	for _, i := range message {
		if e := l.entry(int(i)); e.kind == Delivery {
			any = true
			if s := t.incarnation(e.node, t.end); s != nil && s.incarnation == e.incarnation {
				arrivals[e.node] = append(arrivals[e.node], i)
			}
		}
	}
	if !any && !t.lived(sender, sent, t.end) {
		return
	}
	for _, id := range receivers {
		got := arrivals[id]
		switch {
		case len(got) > 1:
			f.add(got, "node %v was told %d times of value %d of node %v", id, len(got), value, sender)
		case len(got) == 0 && id != sender && t.lived(id, sent, t.end):
			f.add([]int32{message[0], t.incarnation(id, sent).begin}, "node %v lived through and was not told of value %d of node %v", id, value, sender)
		}
	}
}
