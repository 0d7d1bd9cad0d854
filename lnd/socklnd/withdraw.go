package socklnd

import "ulnet/lnd"

var _ lnd.Withdrawer = (*NI)(nil)

// Withdraw implements lnd.Withdrawer for messages that wait for a connection, and for messages in
// the queue of one. Messages of a batch that is being written stay.
func (ni *NI) Withdraw(want func(*lnd.Message) bool) {
	for _, p := range ni.peers.All() {
		p.mu.Lock()
		var back lnd.Queue
		pushList(&back, p.pending.Take(want))
		for _, c := range p.conns {
			c.tx.withdraw(want, &back)
		}
		if back.Len() > 0 {
			p.events.Add(event{kind: eventFailed, failed: back, err: lnd.ErrWithdrawn})
		}
		p.unlock()
	}
}

// withdraw takes the messages for which want returns true out of the writer's queue, and adds them
// to the queue that the parameter back points to.
func (w *writer) withdraw(want func(*lnd.Message) bool, back *lnd.Queue) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.queue.Take(want)
	for m := list; m != nil; m = m.Link {
		w.queued -= w.sizeOf(m)
	}
	pushList(back, list)
}

// pushList adds the messages of a list, which are linked by Link, to a queue.
func pushList(q *lnd.Queue, list *lnd.Message) {
	for list != nil {
		m := list
		list, m.Link = m.Link, nil
		q.Push(m)
	}
}
