package sim

// flight is a message on its way, or something that reaches a node like one.
type flight[M any] struct {
	msg   M
	at    int64 // when it arrived, while it waits at its receiver
	from  NodeID
	to    NodeID
	size  int32
	next  int32  // behind it in the receiver's queue, or the next free flight
	life  uint32 // Refused and Reset: of the receiver, which must still live
	kind  Kind
	queue int8 // hops behind it
	flags flightFlags
	delay int64 // latency that is still to come
}

type flightFlags uint8

const (
	flightPriority flightFlags = 1 << iota
	flightCopy                 // the second copy of a duplicate
)

// take returns a flight.
func (n *Network[M]) take() int32 {
	if i := n.free; i >= 0 {
		n.free = n.flights[i].next
		return i
	}
	n.flights = append(n.flights, flight[M]{})
	return int32(len(n.flights) - 1)
}

// release gives a flight back.
func (n *Network[M]) release(i int32) {
	n.flights[i] = flight[M]{next: n.free}
	n.free = i
}

// arrive handles flight i, which has come to the end of its way.
func (n *Network[M]) arrive(id NodeID, i int32) {
	f, nd := &n.flights[i], &n.nodes[id]
	switch {
	case nd.state&stateUp == 0:
		n.refuse(id, i)
	case f.kind != Message && f.life != nd.life:
		n.release(i)
	case nd.state&(statePaused|stateBusy) != 0 || nd.waiting > 0:
		n.wait(id, i)
	default:
		n.handle(id, i)
	}
}

// handle steps a node with flight i.
func (n *Network[M]) handle(id NodeID, i int32) {
	f := &n.flights[i]
	in := Input[M]{Kind: f.kind, From: f.from, Msg: f.msg}
	size := int(f.size)
	if f.kind == Command {
		in.Text = n.commands[i]
		delete(n.commands, i)
	}
	n.release(i)
	if in.Kind == Message {
		n.stats.Delivered++
		n.stats.DeliveredBytes += uint64(size)
	}
	n.step(id, in, size)
}

// refuse handles a flight to a node without a process: its host, if there is
// one, tells the sender.
func (n *Network[M]) refuse(id NodeID, i int32) {
	f := &n.flights[i]
	n.stats.Refused++
	sender := &n.nodes[f.from]
	if f.kind != Message || f.flags&flightCopy != 0 || n.nodes[id].state&stateHost == 0 ||
		sender.state&stateUp == 0 || n.separated(id, f.from) {
		n.release(i)
		return
	}
	to := f.from
	f.kind, f.from, f.to, f.life = Refused, id, to, sender.life
	n.queue.push(event{at: n.now + n.latency(id, to), node: int32(to), ref: i, kind: evArrive})
}

// wait queues flight i at a node that cannot take it now.
func (n *Network[M]) wait(id NodeID, i int32) {
	nd := &n.nodes[id]
	if int(nd.waiting) >= n.cfg.Inbox {
		n.stats.InboxFull++
		n.release(i)
		return
	}
	f := &n.flights[i]
	f.at, f.next = n.now, -1
	if nd.waiting == 0 {
		nd.first = i
	} else {
		n.flights[nd.last].next = i
	}
	nd.last = i
	nd.waiting++
}

// unwait takes the first waiting flight of a node off its queue.
func (n *Network[M]) unwait(nd *node[M]) int32 {
	i := nd.first
	nd.first = n.flights[i].next
	nd.waiting--
	return i
}

// ready handles evReady: the CPU of a node is free again, unless that was in
// another life.
func (n *Network[M]) ready(id NodeID, life int32) {
	nd := &n.nodes[id]
	if nd.life != uint32(life) {
		return
	}
	nd.state &^= stateBusy
	n.drain(id)
}

// drain lets a node process what waits for it, until it is busy again.
func (n *Network[M]) drain(id NodeID) {
	nd := &n.nodes[id]
	for n.err == nil && nd.state&stateUp != 0 && nd.state&(statePaused|stateBusy) == 0 {
		switch {
		case n.timerFirst(nd):
			n.step(id, Input[M]{}, 0)
		case nd.waiting > 0:
			nd.skip = max(nd.skip-1, 0)
			i := n.unwait(nd)
			if f := &n.flights[i]; f.kind != Message && f.life != nd.life {
				n.release(i)
				continue
			}
			n.handle(id, i)
		default:
			return
		}
	}
}

// timerFirst reports whether a node's due timer comes before the messages
// that wait for it: after a pause when it is its turn by the seed, otherwise
// by time.
func (n *Network[M]) timerFirst(nd *node[M]) bool {
	if nd.wake > n.now || nd.skip > 0 {
		return false
	}
	return nd.waiting == 0 || nd.wake <= n.flights[nd.first].at
}
