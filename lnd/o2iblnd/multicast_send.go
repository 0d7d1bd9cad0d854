package o2iblnd

import (
	"context"
	"errors"
	"sync"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
)

// maxCasts is how many datagrams may be posted and not done; the others of an NI
// wait in its queue. Local policy.
const maxCasts = 64

// castQueue has the datagrams that wait to be sent and those that are posted. One goroutine at a
// time runs it: the first that finds no other one running it. That goroutine also posts the
// datagrams that others queue meanwhile. So datagrams leave in order, and a handler that sends from
// inside Finalize does not recurse.
type castQueue struct {
	mu      sync.Mutex // guards the fields up to idle
	queue   lnd.Queue
	running bool                   // a goroutine posts datagrams
	closing bool                   // no new datagram is taken
	stopped bool                   // no datagram is posted any more
	posted  [maxCasts]*lnd.Message // posted messages by the ID of their work request
	free    []uint8                // work request IDs that are not in use
	idle    sync.Cond              // signaled when running becomes false or a datagram completes

	// Used only by the goroutine that posts:
	head   [kib.DatagramOverhead]byte
	flat   []byte // a payload in more pieces than the device can gather
	pieces [][]byte
	sges   []verbs.SGE
	one    [1]verbs.Datagram
}

func (s *castQueue) init() {
	s.idle.L = &s.mu
	for id := range uint8(maxCasts) {
		s.free = append(s.free, id)
	}
}

// Multicast implements lnd.Multicaster. If the device has room, the datagram is posted in
// this goroutine or in the one that runs the queue; otherwise later, when the device has room.
func (ni *NI) Multicast(m *lnd.Message) {
	s := &ni.cast.sending
	s.mu.Lock()
	closing := s.closing
	if !closing {
		s.queue.Push(m)
	}
	s.mu.Unlock()
	if closing {
		ni.up.Finalize(m, newError(ShuttingDown, m.Target, nil))
		return
	}
	ni.cast.run()
}

// run posts queued datagrams as long as there is room, unless another goroutine does.
func (c *casting) run() {
	s := &c.sending
	if !s.begin() {
		return
	}
	for m, id := s.next(); m != nil; m, id = s.next() {
		if err := c.post(m, id); err != nil {
			s.take(id)
			c.ni.up.Finalize(m, err)
		}
	}
}

// begin reports whether the caller has to post the queue.
func (s *castQueue) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	begins := !s.running
	s.running = true
	return begins
}

// next takes the next datagram from the queue and gives it an ID. It returns nil if none can be
// posted now; the caller then stops, and another goroutine may run the queue.
func (s *castQueue) next() (m *lnd.Message, id uint8) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.free) - 1
	if last >= 0 && !s.stopped {
		m = s.queue.Pop()
	}
	if m == nil {
		s.running = false
		s.idle.Broadcast()
		return nil, 0
	}
	id = s.free[last]
	s.free, s.posted[id] = s.free[:last], m
	return m, id
}

// take returns the posted datagram with an ID, and frees the ID.
func (s *castQueue) take(id uint8) *lnd.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.posted[id]
	s.posted[id], s.free = nil, append(s.free, id)
	s.idle.Broadcast()
	return m
}

// drain stops taking new datagrams. It returns when all have left, or ctx has ended, and no
// goroutine runs the queue.
func (s *castQueue) drain(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.idle.Broadcast()
	})
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	for (s.running || s.queue.Len() > 0 || len(s.free) < maxCasts) && ctx.Err() == nil {
		s.idle.Wait()
	}
	var err error
	if s.queue.Len() > 0 || len(s.free) < maxCasts {
		err = ctx.Err()
	}
	for s.stopped = true; s.running; {
		s.idle.Wait()
	}
	return err
}

// post hands a datagram to the device, which copies it. Only the goroutine that runs the
// queue calls it.
func (c *casting) post(m *lnd.Message, id uint8) error {
	switch {
	case !m.Group.IsValid() || m.Payload.Length != int(m.Header.PayloadLength):
		return newError(BadHeader, m.Target, nil)
	case c.most > 0 && m.Payload.Length > int(c.limit.Load()):
		return c.failed(DatagramTooLong, m, nil)
	}
	c.mu.Lock()
	e, err := c.open()
	c.mu.Unlock()
	if err != nil {
		return c.failed(DatagramFailed, m, err)
	}
	s := &c.sending
	head, err := kib.Datagrams.AppendHeaders(s.head[:0], &m.Header, false)
	if err != nil {
		return newError(BadHeader, m.Target, err)
	}
	s.gather(head, &m.Payload, max(c.dev.Attr().SGEs, 2))
	s.one[0] = verbs.Datagram{
		ID: uint64(id), Pieces: s.sges, Signaled: true,
		To: c.address(m.Group), QPN: verbs.MulticastQPN, QKey: c.ni.cfg.MulticastQKey,
	}
	err = e.qp.PostSend(s.one[:])
	clear(s.sges)
	clear(s.pieces)
	switch {
	case errors.Is(err, verbs.ErrTooLarge):
		return c.failed(DatagramTooLong, m, err)
	case err != nil:
		return c.failed(DatagramFailed, m, err)
	}
	return nil
}

// gather makes the list of pieces of a datagram that the device is to copy. If there would be more pieces
// than most, gather joins the pieces of the payload to one.
func (s *castQueue) gather(head []byte, p *lnd.Payload, most int) {
	s.sges = append(s.sges[:0], verbs.SGE{Bytes: head})
	s.pieces = p.Append(s.pieces[:0])
	if len(s.pieces) < most {
		for _, b := range s.pieces {
			s.sges = append(s.sges, verbs.SGE{Bytes: b})
		}
		return
	}
	s.flat = s.flat[:0]
	for _, b := range s.pieces {
		s.flat = append(s.flat, b...)
	}
	s.sges = append(s.sges, verbs.SGE{Bytes: s.flat})
}

// failed counts a datagram that was not sent.
func (c *casting) failed(why Reason, m *lnd.Message, err error) error {
	c.ni.counts.count(why)
	return newError(why, m.Target, err)
}

// sent finalizes the datagrams that the completions are about, and then posts queued ones.
func (c *casting) sent(batch []verbs.Completion) {
	now := c.clock.Now()
	for i := range batch {
		m := c.sending.take(uint8(batch[i].ID))
		var err error
		switch batch[i].Status {
		case verbs.Success:
			m.SentAt = now
			c.txMsgs.Add(1)
			c.txBytes.Add(uint64(m.Payload.Length))
		case verbs.Flushed:
			err = newError(ShuttingDown, m.Target, nil)
		case verbs.LocalLength:
			err = c.failed(DatagramTooLong, m, batch[i].Status)
		default:
			err = c.failed(DatagramFailed, m, batch[i].Status)
		}
		c.ni.up.Finalize(m, err)
	}
	c.run()
}
