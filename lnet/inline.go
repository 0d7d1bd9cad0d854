package lnet

import (
	"sync"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Inline is a small message whose header and payload the driver copies when it is posted. So its memory, and the
// Inline, are free at once, and no [Message] is needed while it is on its way. The fields of the record that belong
// to the upper layer come back in the calls of [InlineUpper]. If Pinned is false, Post fills in Header.SrcNID.
type Inline struct {
	lnd.Inline
	Answers *NI // as in Message; nil for a message that is no answer
}

// InlineUpper is an Upper that posts messages. It must not use a record that it was given after the call
// has returned: lnet uses the memory again.
type InlineUpper interface {
	Upper
	// Left reports that messages to a process have left this node.
	Left(list []lnd.Record, to nid.NID)
	// Lost reports that a message to a process at a NID has failed; payload is valid until Lost returns.
	// Lost returns a Message with the header h and a copy of the payload. lnet may send it again; Sent
	// ends it. Of a record that stands for several messages, lnet calls Lost for each that has failed.
	Lost(r *lnd.Record, h *wire.Header, to nid.NID, payload []byte) *Message
	// Inline fills in i as the inline form of m, which waits for credits, so that lnet can post it.
	// It returns false if m has to stay as it is. lnet calls Inline, and Posted if lnet sends i in
	// the place of m, with a lock held.
	Inline(m *Message, i *Inline) bool
	Posted(m *Message)
}

// Post sends a small message like [Node.Send], from the NI that Send would choose. Post returns false, and
// does nothing, if the message would have to wait for anything, if there is a choice of paths, or if the
// driver does not copy messages. Then the caller calls Send. i.Header is complete but for its source, see
// i.Pinned; Post fills in the source's PID and i.To.
func (n *Node) Post(i *Inline, payload lnd.Payload) bool {
	p := n.posts(i)
	if p == nil {
		return false
	}
	n.fillIn(&i.Header, p.ni)
	flush, taken := p.join(i, payload)
	if !taken {
		flush, taken = p.post(i, payload)
	}
	if flush != nil {
		flush.Flush()
	}
	return taken
}

// join gives a message to the driver without a lock, if a buffer of the driver has room and nothing waits
// that the message could overtake. A message that begins to wait while join runs was sent at the same time,
// so either may leave first. If the buffer belongs to another peerNI of the same NID by then, the message
// counts for that one.
func (p *peerNI) join(i *Inline, payload lnd.Payload) (flush lnd.Flusher, taken bool) {
	if !p.joinable.Load() {
		return nil, false
	}
	p.address(i)
	return p.ni.poster.Post(&i.Inline, payload, false)
}

// post gives a message to the driver, if there are credits and nothing waits. p.mu keeps it in order with
// messages that wait. The driver's Post makes no upcall, so the lock may be held.
func (p *peerNI) post(i *Inline, payload lnd.Payload) (flush lnd.Flusher, taken bool) {
	p.mu.Lock()
	if !p.mayPost() {
		p.mu.Unlock()
		return nil, false
	}
	p.address(i)
	flush, taken, undo := p.fill(i, payload)
	p.mayJoin()
	p.mu.Unlock()
	if undo {
		p.ni.undoCredit(p)
	}
	return flush, taken
}

// address sets the process that the message i is sent to: its PID is the one in the message's header, its NID is p's.
func (p *peerNI) address(i *Inline) {
	// An assignment of its own: if it were joined with the line below, the new values would be copied first,
	// which stalls the processor.
	i.To.NID = p.nid
	i.To.PID, i.Expires = i.Header.DestPID, 0
}

// mayJoin decides anew whether messages may join the driver's buffers without p.mu. The invariant is: if p is
// joinable, the driver has a buffer, no message waits for credits or discovery, and the NI is there. So mayJoin is
// called before p.mu is released after a change that may break this. The caller holds p.mu.
func (p *peerNI) mayJoin() {
	if may := p.buffers > 0 && p.mayPost(); may != p.joinable.Load() {
		p.joinable.Store(may)
	}
}

// fill copies a message to a buffer of the driver. If the message opens another buffer,
// fill takes a peer credit and an NI credit, which the buffer holds until its last message has ended. The
// caller holds p.mu. If undo is true, the caller must give an NI credit back after it has released p.mu.
func (p *peerNI) fill(i *Inline, payload lnd.Payload) (flush lnd.Flusher, taken, undo bool) {
	if p.buffers > 0 { // first try to do without a new buffer: one of those in use may have room
		if flush, taken = p.ni.poster.Post(&i.Inline, payload, false); taken {
			return flush, true, false
		}
	}
	return p.fillAnother(i, payload)
}

// fillAnother is fill for a message that may be the first one in a buffer. lnet counts the buffer; the driver
// counts the messages in it.
func (p *peerNI) fillAnother(i *Inline, payload lnd.Payload) (flush lnd.Flusher, taken, undo bool) {
	if p.credits <= 0 || !p.ni.postCredit(p) {
		return nil, false, false
	}
	i.Owner = p
	p.ni.pending.Add(1) // counted before Post, because another goroutine can end the buffer as soon as the driver has it
	flush, taken = p.ni.poster.Post(&i.Inline, payload, true)
	if !taken || !i.Opens {
		p.ni.ended()
		return flush, taken, true
	}
	p.buffers++
	p.credits--
	p.minCredits = min(p.minCredits, p.credits)
	return flush, taken, false
}

// buffered returns how many inline messages to p have not ended, and their bytes, headers included. While
// the ends of a buffer are reported, the driver may count fewer; then each buffer counts as one message, so that
// p does not look idle. The caller holds p.mu.
func (p *peerNI) buffered() (messages, bytes int) {
	if p.buffers == 0 {
		return 0, 0
	}
	for _, pid := range p.connected {
		n, payload := p.ni.poster.Buffered(nid.ProcessID{NID: p.nid, PID: pid})
		messages += n
		bytes += n*headerBytes + payload
	}
	return max(messages, p.buffers), bytes
}

// postAtOnce is how many queued messages one call of postQueued turns into inline ones. It is bounded,
// because peerNI.mu is held meanwhile.
const postAtOnce = 256

// postQueued turns small messages at the head of the queue into inline messages, so that they do not
// need a credit each. It ends early when the caller has to do something after it has released p.mu: to
// call flush if that is not nil, or to give an NI credit back if undo is true. taken reports whether the
// last message was turned into an inline one. The caller holds p.mu.
func (p *peerNI) postQueued() (flush lnd.Flusher, undo, taken bool) {
	upper, ok := p.ni.node.upper.(InlineUpper)
	if p.ni.poster == nil || !ok {
		return nil, false, false
	}
	i := inlines.Get().(*Inline)
	defer inlines.Put(i)
	for n := 0; p.queue.Len() > 0 && !p.queue.Urgent() && n < postAtOnce; n++ {
		m := owner(p.queue.First())
		if !m.mayPost() || p.unfit(m) != nil || !upper.Inline(m, i) {
			break
		}
		i.To, i.Expires = m.Target, m.expires
		if flush, taken, undo = p.fill(i, m.Payload); taken {
			p.queue.Pop()
			p.ni.node.leave(m)
			p.ni.node.inFlight.dec() // Send has counted m as in flight; from now on the driver counts it
			p.ni.ended()             // Send has counted m as pending; from now on its buffer counts instead
			upper.Posted(m)
		}
		if !taken || flush != nil || undo {
			return flush, undo, taken
		}
	}
	return nil, false, taken
}

// inlines are the inline forms of messages that are being posted.
var inlines = sync.Pool{New: func() any { return new(Inline) }}

// mayPost reports whether m may become an inline message: there was no choice of paths, and it is sent
// for the first time.
func (m *Message) mayPost() bool {
	return m.Payload.Length <= lnd.MaxInline && !m.Priority && !m.chosen && m.retries == 0 && m.Group == 0 &&
		m.LeaveBy == 0 && m.transit == nil && m.Answers == nil && !m.Recovery
}

// Left implements lnd.InlineUpcalls.
func (ni *NI) Left(owner any, list []lnd.Record, to nid.ProcessID, at time.Duration) {
	p := owner.(*peerNI)
	var sum departed
	for n := range list {
		sum.count(&list[n])
	}
	ni.traffic.countDeparted(&sum)
	p.traffic.countDeparted(&sum)
	p.restore(&sum, to)
	if at == 0 {
		at = ni.node.cfg.Clock.Now()
	}
	ni.heal()
	p.contacts.of(to.PID).sent.advance(at)
	ni.node.upper.(InlineUpper).Left(list, to.NID)
	p.goOn()
	ni.endedAll(sum.credits)
}

// departed sums up inline messages that have left.
type departed struct {
	messages [wire.Hello + 1]uint64 // number of messages by type
	all      int                    // number of messages
	bytes    int                    // bytes of the payloads of all these messages
	credits  int                    // number of credits that come back, one for each buffer that has ended
}

func (d *departed) count(r *lnd.Record) {
	d.add(r, r.Messages())
	if r.Closes {
		d.credits++
	}
}

// add adds n of the messages that r stands for.
func (d *departed) add(r *lnd.Record, n int) {
	d.messages[r.Type] += uint64(n)
	d.all += n
	d.bytes += n * int(r.Length)
}

// restore returns the credits of the buffers that have ended. It also updates the maximum of messages in flight, from
// the number that were in flight before the messages in sum left. Of the inline messages, that number counts only
// those to the process to. restore runs before the handlers of the SEND events, so that a handler can send. But peers
// that wait for credits of the NI get them first: otherwise a handler that sends again and again would take all of
// them. Other messages to p that wait go on after these events.
func (p *peerNI) restore(sum *departed, to nid.ProcessID) {
	p.mu.Lock()
	p.credits += sum.credits
	p.buffers -= sum.credits
	p.mayJoin()
	p.mu.Unlock()
	flight := &p.ni.node.inFlight
	buffered, _ := p.ni.poster.Buffered(to)
	flight.reach(flight.now.Load() + int64(buffered+sum.all))
	if sum.credits > 0 {
		p.ni.returnCredits(p, sum.credits)
	}
}

// Lost implements lnd.InlineUpcalls. Each message that has failed becomes an ordinary one.
func (ni *NI) Lost(owner any, r *lnd.Record, h *wire.Header, to nid.ProcessID, n int, payload []byte, err error) {
	p := owner.(*peerNI)
	p.lose(r, n)
	for range n {
		m := ni.node.upper.(InlineUpper).Lost(r, h, to.NID, payload)
		m.reset()
		m.peer, m.ni, m.dest, m.Target, m.expires = p, ni, m.Header.DestNID, to, r.Expires
		ni.Finalize(&m.Message, err)
	}
}

// lose accounts for n messages of r that have failed, before each becomes a Message: it counts each as in
// flight and pending, and takes a credit for each, which Finalize gives back. If r is the last record of its
// buffer, one of the messages takes over the buffer's credit. The other messages of r have left.
func (p *peerNI) lose(r *lnd.Record, n int) {
	var left departed
	left.add(r, r.Messages()-n)
	credits, buffers := n, 0
	if r.Closes {
		credits, buffers = n-1, 1
	}
	p.ni.node.inFlight.add(n)
	p.ni.pending.Add(int64(credits))
	if credits > 0 {
		p.ni.mu.Lock()
		for range credits {
			p.ni.tx.take(p)
		}
		p.ni.tellCredits()
		p.ni.mu.Unlock()
	}
	p.mu.Lock()
	p.buffers -= buffers
	p.credits -= credits
	p.queuedBytes += n * (headerBytes + int(r.Length))
	p.mayJoin()
	p.mu.Unlock()
	if left.all > 0 {
		p.ni.traffic.countDeparted(&left)
		p.traffic.countDeparted(&left)
	}
}
