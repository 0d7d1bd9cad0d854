package engine

import (
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/scoll/wire"
)

// run forwards a request and calls the service's incoming-request callback (Broadcast Message
// 4).
func (m *Machine) run(r *request) {
	m.forward(r)
	m.start(r)
	m.schedule(r)
	m.gather(r)
}

// forward sends a request to the children, the deepest subtree first.
func (m *Machine) forward(r *request) {
	r.phase, r.since = running, m.now
	if len(r.children) > 0 {
		r.makeRoom()
		m.expose(r)
		frame := m.frame(r, false)
		for i := range r.children {
			switch id := r.roster.NID(r.children[i].Rank); {
			case m.health.isDead(id):
				m.stats.Died++
				m.fail(r, i, wire.EHOSTDOWN)
			case !r.root && r.group.stranger && !m.mayDial(id):
				m.stats.NotListed++
				m.fail(r, i, wire.ENOTLISTED)
			default:
				m.send(r, i, frame)
				m.inquireReturned(id)
			}
		}
	}
}

// start calls the service's incoming-request callback.
func (m *Machine) start(r *request) {
	if r.header.Flags&wire.FlagModule != 0 || len(r.roster.Target(r.rank).Entities) == 0 {
		r.incoming = returned
	}
	if r.incoming == notCalled {
		r.incoming = called
		m.remember(r)
		m.emit(Effect{Kind: CallIncoming, ID: r.id})
	}
}

// expose allocates match bits for a request, and exposes under these bits the data that
// children must fetch.
func (m *Machine) expose(r *request) {
	r.bits = m.bits
	m.bits += 2
	m.requests.byBits[r.bits] = r
	if r.header.Bulk.Length > 0 {
		r.exposed = true
		m.emit(Effect{Kind: DoExpose, ID: r.id, Bits: r.bits, Length: r.header.Bulk.Length})
	}
	if r.header.List.Length > 0 {
		m.exposeList(r)
	}
}

func (m *Machine) exposeList(r *request) {
	r.exposed = true
	m.emit(Effect{Kind: DoExpose, ID: r.id, Bits: r.bits + 1, Members: r.group.members, List: true})
}

// frame builds the message for the children: the request as it came, with this node's match
// bits (SC-157). listed says to include the list of members.
func (m *Machine) frame(r *request, listed bool) Range {
	h, body := r.header, r.body
	h.ReplyBits, h.Carry = r.bits, r.room
	if h.Bulk.Length > 0 {
		h.Bulk.Bits = r.bits
	}
	var list []byte
	if listed && h.Flags&wire.FlagList == 0 {
		h.Flags |= wire.FlagList
		if size := r.group.members.Size(); r.fitsList() {
			h.ListSize = uint32(size)
			list = r.group.members.AppendTo(nil)
		} else {
			h.List.Length = uint64(size)
			h.BulkTime += m.cfg.bulkTime(h.List.Length)
			m.exposeList(r)
		}
	}
	if h.List.Length > 0 {
		h.List.Bits = r.bits + 1
	}
	begin := len(m.out.Buf)
	m.out.Buf = h.AppendTo(m.out.Buf)
	m.out.Buf = append(m.out.Buf, list...)
	m.out.Buf = append(m.out.Buf, body...)
	return Range{begin, len(m.out.Buf)}
}

// send sends the request to a child.
func (m *Machine) send(r *request, i int, frame Range) {
	c := &r.children[i]
	h := r.header
	if c.listed && !r.fitsList() {
		h.BulkTime += m.cfg.bulkTime(uint64(r.group.members.Size())) // time in which the child fetches the list
	}
	c.state = waiting
	if m.await(r, c, m.now+max(childTimeout(&h, c.Depth, r.processing), 1)); r.pipe.loading {
		c.at = machine.Never // the child cannot answer before this node has all data, see loaded
	}
	m.hurry(r, c)
	e := Effect{Kind: DoSend, ID: r.id, Child: i, To: r.roster.NID(c.Rank), Bits: r.bits, Nodes: c.Size, Data: frame}
	if c.Size > 1 {
		e.Room = int(r.room)
	}
	m.emit(e)
	if r.pipe.there > 0 {
		m.tellChild(r, i, wire.OK)
	}
}

// sent handles the result of sending a message. Since a failure is one of this node and may
// pass, the machine retries (SC-A22).
func (m *Machine) sent(r *request, in *Input) {
	if in.Child == Upward {
		m.sentUp(r, in)
		return
	}
	if in.Child < 0 || in.Child >= len(r.children) || in.Status == wire.OK {
		return
	}
	c := &r.children[in.Child]
	if c.state != waiting || c.word > 0 || c.parts != 0 { // a Hold or a part of the reply shows that the request has arrived
		return
	}
	c.tries++
	if c.tries >= maxTries {
		m.stats.Unsent++
		m.fail(r, in.Child, in.Status)
		m.gather(r)
		return
	}
	c.state, c.at = retrying, m.now+r.backOff(c.tries)
	m.hurry(r, c)
	m.schedule(r)
}

// backOff returns how long to wait before the next try to send: it doubles with each try.
func (r *request) backOff(tries uint8) time.Duration {
	return max(r.header.Guard/8, time.Millisecond) << tries
}

// fail ends the wait for a child and records its subtree as missing (SC-139).
func (m *Machine) fail(r *request, i int, s wire.Status) {
	c := &r.children[i]
	if c.state != unsent {
		r.exposed = true
		m.emit(Effect{Kind: DoUnpost, ID: r.id, Child: i})
	}
	c.state = done
	r.pending--
	r.miss(c, s)
	m.report(r, i, Effect{Status: s, Rank: c.Rank, Final: true})
}

// report calls the incoming-reply callback for a child's reply, or for an error in place of
// one.
func (m *Machine) report(r *request, i int, e Effect) {
	if r.header.Flags&wire.FlagModule != 0 {
		return
	}
	r.calls++
	e.Kind, e.ID, e.Child = CallReply, r.id, i
	if e.Status != wire.OK && e.Nodes == 0 {
		e.Nodes, e.Entities = r.children[i].Size, r.roster.EntitiesBelow(r.shape(), r.children[i].Rank)
	}
	m.emit(e)
}

// schedule sets the time at which the machine must process a request again.
func (m *Machine) schedule(r *request) {
	at := machine.Never
	if !r.root && !r.answered || r.awaitsItself() {
		at = r.limit
	}
	if r.phase == running {
		at = min(at, r.pipe.at)
		for i := range r.children {
			if c := &r.children[i]; c.state == waiting || c.state == retrying {
				at = min(at, c.at)
			}
		}
	}
	if r.phase == withdrawing || r.phase == resting {
		at = min(at, r.until)
	}
	for i := range r.ups {
		at = min(at, r.ups[i].at)
	}
	if !r.answered {
		at = min(at, r.told.at)
	}
	m.requests.setWake(r, at)
}

// expire processes the requests whose timers have expired.
func (m *Machine) expire() {
	for len(m.requests.heap) > 0 && m.requests.heap[0].at <= m.now {
		m.look(m.requests.heap[0])
	}
}

func (m *Machine) look(r *request) {
	id := r.id
	if r.phase == running {
		m.lookAtChildren(r)
		m.tellAgain(r)
	}
	m.sendUpAgain(r)
	m.sayAgain(r)
	switch {
	case r.limit > m.now:
	case r.root:
		m.abandon(r, wire.ETIMEDOUT)
	case !r.answered:
		m.overdue(r)
	}
	if r.id == id && r.until <= m.now {
		switch r.phase {
		case withdrawing:
			m.postReply(r)
		case resting:
			m.again(r)
		}
	}
	if r.id != id {
		return
	}
	m.schedule(r)
	m.gather(r)
}

func (m *Machine) lookAtChildren(r *request) {
	for i := range r.children {
		c := &r.children[i]
		switch {
		case c.at > m.now || c.state != waiting && c.state != retrying:
		case c.state == retrying:
			m.stats.Retries++
			m.send(r, i, m.frame(r, c.listed))
		case c.ended && !c.hasJoined():
			m.rejected(r, i, wire.ENOGROUP)
		default:
			m.stats.TimedOut++
			m.fail(r, i, wire.ETIMEDOUT)
		}
	}
}

// forgetSequence removes the sequence number of a broadcast of this node that has ended.
func (g *group) forgetSequence(n uint64) {
	if i := slices.Index(g.busy, n); i >= 0 {
		g.busy = slices.Delete(g.busy, i, i+1)
	}
}
