package sim

// arrive handles flight i, a message or a Refused, Reset or Command, which has reached its
// receiver's host.
func (n *Network[M]) arrive(id NodeID, i int32) {
	nd := &n.nodes[id]
	if nd.state == stateUp|stateHost && nd.waiting == 0 {
		n.handle(id, i)
		return
	}
	f := n.flights.at(i)
	switch {
	case nd.state&stateUp == 0:
		n.refuse(id, i)
	case f.kind == Message && int(nd.waiting) >= n.cfg.Inbox:
		n.stats.InboxFull++
		n.flights.release(i)
	default:
		n.wait(nd, i, f)
	}
}

// handle steps node id with flight i, unless that is a Refused, Reset or Command for an incarnation
// that has ended.
func (n *Network[M]) handle(id NodeID, i int32) {
	f, in := n.flights.at(i), &n.in
	in.Kind, in.From, in.Msg = f.kind, f.from, f.msg
	size, incarnation := 0, f.incarnation
	n.flights.release(i)
	switch {
	case in.Kind == Message:
		size = int(f.size)
		n.stats.Delivered++
		n.stats.DeliveredBytes += uint64(size)
	case incarnation != n.nodes[id].incarnation:
		return
	case in.Kind == Command:
		in.From, in.Text = 0, n.commands[i]
		delete(n.commands, i)
	}
	n.step(id, size)
	in.Text = ""
}

// input sets the input for a step that no flight causes, such as that of a timer.
func (n *Network[M]) input(kind Kind) {
	n.in = Input[M]{Kind: kind}
}

// refuse handles a flight to a node without a process: the node's host, if it is up, sends a Refused
// to the sender, if that still runs in the same incarnation and can be reached. The host sends none
// for the second copy of a duplicate, or for a flight that is not a message.
func (n *Network[M]) refuse(id NodeID, i int32) {
	f := n.flights.at(i)
	if f.kind != Message {
		n.flights.release(i)
		return
	}
	n.stats.Refused++
	sender := &n.nodes[f.from]
	if f.flags&flightCopy != 0 || n.nodes[id].state&stateHost == 0 ||
		sender.state&stateUp == 0 || sender.incarnation != f.incarnation || n.cuts.Apart(id, f.from) {
		n.flights.release(i)
		return
	}
	to := f.from
	f.kind, f.from, f.to = Refused, id, to
	n.queue.push(newEvent(n.now+n.latency(id, to), evArrive, to, i))
}

// wait queues flight i at a node that cannot take it now.
func (n *Network[M]) wait(nd *node[M], i int32, f *flight[M]) {
	f.next = -1
	if nd.waiting == 0 {
		nd.first = i
	} else {
		n.flights.at(nd.last).next = i
	}
	nd.last = i
	nd.waiting++
}

// unwait takes the first waiting flight of a node off its queue.
func (n *Network[M]) unwait(nd *node[M]) int32 {
	i := nd.first
	nd.first = n.flights.at(i).next
	nd.waiting--
	return i
}

// ready handles evReady: the CPU of a node is free again. An evReady of an earlier incarnation is
// ignored.
func (n *Network[M]) ready(id NodeID, incarnation int32) {
	nd := &n.nodes[id]
	if int32(nd.incarnation&refMask) != incarnation {
		return
	}
	nd.state &^= stateBusy
	n.drain(id)
}

// drain lets a node process its waiting messages until it is busy again. A due timer comes
// before messages, except after a pause: then its position among them was drawn at random.
func (n *Network[M]) drain(id NodeID) {
	nd := &n.nodes[id]
	for n.err == nil && nd.state == stateUp|stateHost {
		switch {
		case nd.turn > 1 && nd.waiting > 0:
			nd.turn--
			n.handle(id, n.unwait(nd))
		case nd.wake <= n.now:
			nd.turn = 0
			n.input(Timer)
			n.step(id, 0)
		case nd.turn > 0:
			nd.turn = 0
			n.yield(id)
		case nd.waiting > 0:
			n.handle(id, n.unwait(nd))
		default:
			return
		}
	}
}

// yield is called while a node handles the messages of a pause, at the position among them that was
// drawn for the timer (see Resume). Earlier messages have made the program set another wake. If that
// wake is the earliest possible instant, yield makes the remaining messages wait until the timer has
// run.
func (n *Network[M]) yield(id NodeID) {
	nd := &n.nodes[id]
	if nd.wake <= n.virtual(id, n.local(id)+1) {
		n.occupy(id, nd.wake)
	}
}
