package softroce

import (
	"net/netip"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/wire"
	"ulnet/lnet/machine"
)

// step steps the transport, which must exist. The caller holds c.mu.
func (c *conn) step(in rcInput, box *outbox) {
	before := c.rc.sends.len()
	if len(in.Post) > 0 {
		before += len(in.Post)
	}
	if !in.Later { // a step with Later sends nothing, so the time of the last step will do for it
		c.now = c.hub.clock.Now()
		if c.now >= c.wake {
			in.Away = c.hub.absence.at(c.now)
		}
	}
	c.wake = c.rc.Step(c.now, in, &box.out)
	if box.out.Err != nil {
		before -= len(in.Post)
	}
	// Work requests that end without a completion make room in the queue now, the others when the upcall
	// of their completion is made.
	silent := before - c.rc.sends.len()
	for i := range box.out.Completions {
		if box.out.Completions[i].Op != verbs.Receive {
			silent--
		}
	}
	c.sends.release(silent)
	if box.out.Starved {
		c.dev.starved(c.now)
	}
	if box.out.Failed != verbs.Success && c.status == verbs.Success {
		c.status = box.out.Failed
	}
}

// finish claims the completions of a step and then calls conclude.
func (c *conn) finish(box *outbox) {
	c.claim(box, nil)
	c.conclude(box)
}

// conclude sends the packets of a step, unlocks c.mu, makes the upcalls that were claimed,
// and gives the box back.
func (c *conn) conclude(box *outbox) {
	c.emit(box)
	c.arm()
	failed := box.out.Failed != verbs.Success
	c.mu.Unlock()
	box.run()
	c.hub.boxes.put(box)
	if failed {
		c.hub.cm.disconnect(c)
	}
}

// arrived receives packets (endpoint). The ACK waits until the upcalls have returned, and is
// sent after the packets that they post. If they post nothing, it is delayed until the
// connection posts something or the port is about to block.
func (c *conn) arrived(from netip.AddrPort, list []ibta.Packet) {
	if !c.begin(from) {
		c.hub.strays.Add(uint64(len(list)))
		return
	}
	box := c.hub.boxes.take()
	c.step(rcInput{Packets: list}, box)
	if endsInAnswer(box) { // this answer acknowledges everything that a delayed ACK would
		c.ackDelayed = false
	}
	c.claim(box, nil)
	failed := box.out.Failed != verbs.Success
	if !box.claimed() && !failed {
		c.conclude(box)
		return
	}
	c.hub.absence.begin(c.now)
	if c.handing || failed {
		c.conclude(box)
		c.hub.absence.end(c.hub.clock.Now())
		return
	}
	c.handOut(box)
}

// handOut makes the upcalls of a step whose completions were claimed (see cq.claim), and then sends
// the packets of work requests that were posted during the upcalls. The caller holds c.mu, which
// handOut unlocks.
func (c *conn) handOut(box *outbox) {
	c.withhold(box)
	c.emit(box)
	c.arm()
	c.handing = true
	c.mu.Unlock()
	box.run()
	box.reset()
	c.mu.Lock()
	c.handing = false
	c.step(rcInput{}, box)
	c.hub.absence.end(c.now)
	if len(box.out.Packets) > 0 {
		c.addACK(box)
	} else if c.ackDelayed {
		c.hub.delayACK(c)
	}
	c.claim(box, nil)
	more := box.claimed() || box.out.Failed != verbs.Success
	c.conclude(box)
	if more {
		c.hub.absence.end(c.hub.clock.Now())
	}
}

// begin reports whether packets of this sender are for this connection. If they are, it returns true
// with c.mu locked. If not, it returns false with c.mu unlocked. The first packet to the passive side
// shows that the peer knows of the connection.
func (c *conn) begin(from netip.AddrPort) bool {
	c.mu.Lock()
	if !c.heard && !c.asking && c.rc != nil && from.Addr() == c.route.To.Addr() {
		c.heard = true
		c.mu.Unlock()
		c.hub.cm.heard(c)
		c.mu.Lock()
	}
	if c.rc == nil || c.ended || from.Addr() != c.route.To.Addr() {
		c.mu.Unlock()
		return false
	}
	return true
}

// withhold moves the ACK, which is the last packet of a step, from box to c.ack.
func (c *conn) withhold(box *outbox) {
	last := len(box.out.Packets) - 1
	if !endsInAnswer(box) || !box.out.Packets[last].AETH.Syndrome.IsAck() {
		return
	}
	c.ack, c.ackDelayed = box.out.Packets[last], true
	box.out.Packets = box.out.Packets[:last]
}

func endsInAnswer(box *outbox) bool {
	last := len(box.out.Packets) - 1
	return last >= 0 && box.out.Packets[last].OpCode == ibta.Acknowledge
}

// addACK adds the delayed ACK, if there is one, to the packets of a step. c.mu is held.
func (c *conn) addACK(box *outbox) {
	if c.ackDelayed {
		c.ackDelayed = false
		box.out.Packets = append(box.out.Packets, c.ack)
	}
}

// sendACK sends the delayed ACK.
func (c *conn) sendACK() {
	box := c.hub.boxes.take()
	c.frameACK(box)
	c.hub.transmit(box)
	c.hub.boxes.put(box)
}

// frameACK moves the delayed ACK, if there is one, to the datagrams of a box that the caller
// sends. While upcalls are being made it leaves the ACK to handOut. The caller sends the box without
// c.mu. A later ACK of the connection may be sent before it; the peer then ignores the delayed ACK.
func (c *conn) frameACK(to *outbox) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ackDelayed && !c.handing {
		c.ackDelayed = false
		c.add(to, &c.ack, &to.out)
	}
}

// emit makes datagrams of the packets of a step and sends them.
func (c *conn) emit(box *outbox) {
	for i := range box.out.Packets {
		c.add(box, &box.out.Packets[i], &box.out)
	}
	c.hub.transmit(box)
}

// add adds a packet to the datagrams of a box, which it sends when they are many.
func (c *conn) add(to *outbox, p *rcPacket, out *rcOutput) {
	payload := out.Payload(p)
	r := c.route
	if c.rc.req.doubtful() && p.OpCode.IsRequest() {
		r = c.hub.route(r.To.Addr(), r.Class, wire.Silent)
	}
	if to.frame.full(r, &p.Packet, payload) {
		c.hub.transmit(to)
	}
	to.frame.segmented = c.hub.cut.Load()
	to.frame.add(r, &p.Packet, payload)
}

// claim reserves the next places in the order of the completion queues: for the completions of a step
// and then, if last is not nil, for the end of the connection. c.mu is held. box then has the upcalls
// that the caller is to make. If a queue has a goroutine in run, that goroutine makes them instead.
func (c *conn) claim(box *outbox, last *conn) {
	list := box.out.Completions
	if c.sends == c.recvs {
		if c.sends.claim(list, last) {
			box.jobs[0] = upcalls{c.sends, list, last}
		}
		return
	}
	box.split[0], box.split[1] = box.split[0][:0], box.split[1][:0]
	for i := range list {
		k := 0
		if list[i].Op == verbs.Receive {
			k = 1
		}
		box.split[k] = append(box.split[k], list[i])
	}
	if c.recvs.claim(box.split[1], nil) {
		box.jobs[1] = upcalls{c.recvs, box.split[1], nil}
	}
	if c.sends.claim(box.split[0], last) {
		box.jobs[0] = upcalls{c.sends, box.split[0], last}
	}
}

// over is called when the queue q has handed out all completions that come before the end of the
// connection. If the connection has two queues, it is called first for the queue of work requests: that
// call claims a turn for the end in the queue of receives. The call for the queue of receives makes the
// connection's last event follow.
func (c *conn) over(q *cq) {
	if q != c.recvs {
		if c.recvs.claim(nil, c) {
			c.recvs.run(nil, c)
		}
		return
	}
	c.events.push(c.last, true)
	c.events.run(c)
}

// end ends the connection, with e as its last event. It returns a box, or nil. The caller makes the
// upcalls of the box when it holds no lock, and gives the box back.
func (c *conn) end(e verbs.Event) *outbox {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil
	}
	c.ended = true
	if e.Kind == verbs.Disconnected {
		e.Status = c.status
	}
	c.last = e
	box := c.hub.boxes.take()
	if c.rc != nil {
		c.step(rcInput{Fail: verbs.Flushed}, box)
	}
	c.claim(box, c)
	c.hub.retire(c)
	c.hub.demux.remove(c.qpn)
	c.hub.timers.remove(&c.timer)
	return box
}

// arm sets the timer. The caller holds c.mu.
func (c *conn) arm() {
	if c.wake == machine.Never {
		return
	}
	if due := c.wake + c.slack; due < c.timerAt {
		c.timerAt = due
		c.hub.timers.set(&c.timer, due)
	}
}

// maxSlack bounds how late the timer may be; local policy. While nothing is lost the timer
// expires without effect again and again, and setting the system's timer is expensive. So after
// each such expiry the next one may be later, up to this bound.
const maxSlack = 8 * time.Millisecond

// expired steps the transport if something is due.
func (c *conn) expired(now time.Duration) {
	c.mu.Lock()
	c.timerAt = machine.Never
	if c.rc == nil || c.ended || now < c.wake {
		c.slack = min(2*c.slack+grain, maxSlack)
		c.arm()
		c.mu.Unlock()
		return
	}
	c.slack = 0
	box := c.hub.boxes.take()
	c.step(rcInput{}, box)
	c.finish(box)
}
