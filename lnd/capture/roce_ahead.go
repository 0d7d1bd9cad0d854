package capture

import (
	"bytes"
	"slices"
	"time"

	"ulnet/lnd/verbs/ibta"
)

// Bounds of the packets that wait for earlier ones, local policy. Those of all connections together count as maxWaiting
// pages at most, as the segments of TCP do.
const (
	// maxAhead is how many packets of one direction wait; rxe has at most 128 on the way.
	maxAhead = 256
	// maxAheadTime is how long a packet waits for missing ones. After that, these are given up if the acknowledgements
	// of the responder are not in the capture; otherwise the packet may be dropped as a stray one. A lost packet is
	// sent again after the timeout that Linux asks for, 2.1 s. IBTA lets adapters wait four times as long.
	maxAheadTime = 10 * time.Second
	// largestAhead is how many packets of one direction are under way at most.
	largestAhead = 8 * maxAhead
)

// wait keeps a packet that came too early. If too many packets wait, it makes room.
func (fl *roceFlow) wait(f *roceFrame) {
	if f.PSN.Sub(fl.next) >= 1<<23-2*largestAhead { // so far ahead that its PSN cannot be compared
		return
	}
	i := len(fl.ahead)
	for i > 0 && fl.ahead[i-1].PSN.Sub(f.PSN) > 0 {
		i--
	}
	if i > 0 && fl.ahead[i-1].PSN == f.PSN {
		fl.c.r.d.counts.Repeated++
		return
	}
	kept := *f
	kept.raw, kept.Payload = nil, bytes.Clone(f.Payload)
	kept.since = fl.c.r.d.clock.now
	fl.ahead = slices.Insert(fl.ahead, i, &kept)
	fl.c.r.waiting += kept.pages()
	for len(fl.ahead) > maxAhead || len(fl.ahead) > 0 && fl.c.r.waiting >= maxWaiting {
		fl.makeRoom()
	}
	fl.settle(false)
}

// makeRoom drops the last of the packets that wait, if there is a stray one among them. Otherwise it gives up the
// packets that are missing before the first one.
func (fl *roceFlow) makeRoom() {
	if fl.heard() {
		for i := range fl.ahead {
			if fl.beyond(i) {
				fl.discard(len(fl.ahead) - 1)
				return
			}
		}
	}
	fl.skip()
}

// pages returns how many pages a waiting packet counts as. That is a little more than the memory
// that it keeps alive.
func (f *roceFrame) pages() int { return 1 + cap(f.Payload)>>11 }

// pop removes the first packet that waits and returns it.
func (fl *roceFlow) pop() *roceFrame {
	f := fl.ahead[0]
	fl.ahead[0] = nil // the array must not keep the packet alive
	if fl.ahead = fl.ahead[1:]; len(fl.ahead) == 0 {
		fl.ahead = nil
	}
	fl.c.r.waiting -= f.pages()
	return f
}

// catchUp takes the packets that were kept because they came too early, as long as the next one
// in the order of PSNs is among them.
func (fl *roceFlow) catchUp() {
	for len(fl.ahead) > 0 && fl.ahead[0].PSN.Sub(fl.next) <= 0 {
		if f := fl.pop(); f.PSN == fl.next {
			fl.take(f)
		}
	}
}

// skip gives up the packets that are missing before the first packet that waits.
func (fl *roceFlow) skip() {
	n := fl.ahead[0].PSN.Sub(fl.next)
	fl.c.r.note(fl.c, fl.side, Lost, uint64(n), nil)
	fl.abandon(ErrLost)
	fl.next = fl.ahead[0].PSN
	fl.catchUp()
}

// acknowledged records that the responder has acknowledged all packets up to psn.
func (fl *roceFlow) acknowledged(psn ibta.PSN) {
	fl.acked, fl.toldAt, fl.told = psn, fl.c.r.d.clock.now, true
	fl.settle(false)
}

// settle gives up packets that the capture lacks although the responder has acknowledged them. It does so at once if an
// answer to them is about to be reported (answered), and otherwise after queueTimeout, as with segments of TCP.
func (fl *roceFlow) settle(answered bool) {
	r := fl.c.r
	for len(fl.ahead) > 0 && !fl.lacks(0) {
		if fl.due == 0 {
			fl.sure, fl.due = fl.acked, r.d.clock.now+queueTimeout
		}
		if answered {
			fl.sure = fl.acked
		} else if r.d.clock.now < fl.due {
			if !fl.listed {
				fl.listed, r.due = true, append(r.due, fl)
			}
			return
		}
		fl.moved, fl.due = r.d.clock.now, 0
		for len(fl.ahead) > 0 && fl.ahead[0].PSN.Sub(fl.sure) <= 1 {
			fl.skip()
		}
	}
	fl.due = 0
}

// settleDue gives up missing packets on the flows that have waited for queueTimeout. f is the packet that is handled
// next. If it is the next request of its side, it may answer a request on another connection between the two hosts.
// Then settleDue gives up the missing packets on these connections at once, so that the request is reported first.
func (r *roce) settleDue(c *roceConn, side Side, f *roceFrame) {
	own := c.flows[side]
	answer := f.OpCode != ibta.Acknowledge && (!own.known || own.next == f.PSN)
	due := r.due
	r.due = due[:0]
	for i, fl := range due {
		fl.listed = false
		ends := &fl.c.Ends
		fl.settle(len(due)-i > maxDue || answer && ends[fl.side].Addr() == f.dst && ends[fl.side.Other()].Addr() == f.src)
	}
	clear(due[len(r.due):])
}

// heard reports whether the acknowledgements of the responder are in the capture.
func (fl *roceFlow) heard() bool { return fl.told && fl.c.r.d.age(fl.toldAt) < ackTimeout }

// lacks reports whether the responder has not acknowledged all packets before the waiting one at i.
func (fl *roceFlow) lacks(i int) bool { return !fl.told || fl.ahead[i].PSN.Sub(fl.acked) > 1 }

// beyond reports whether the waiting packet at i is a stray one, which is damaged or was sent by another node: more
// packets are missing before it than can be under way, and the responder has not acknowledged them.
func (fl *roceFlow) beyond(i int) bool {
	from := fl.next
	if i > 0 {
		from = fl.ahead[i-1].PSN
	}
	return fl.ahead[i].PSN.Sub(from) > largestAhead && fl.lacks(i)
}

// leftBehind reports whether the first waiting packet is a stray one because the connection goes on without it: since
// it came, the flow has gone on with earlier packets, but the latest acknowledgement, captured at least reorderTimeout
// after it, does not reach it.
func (fl *roceFlow) leftBehind() bool {
	since := fl.ahead[0].since
	return fl.toldAt >= since+reorderTimeout && fl.moved > since && fl.lacks(0)
}

// discard drops and counts the waiting packet at i, which is a stray one.
func (fl *roceFlow) discard(i int) {
	fl.c.r.waiting -= fl.ahead[i].pages()
	fl.c.r.d.counts.Outside++
	fl.ahead = slices.Delete(fl.ahead, i, i+1)
}

// end processes all packets that wait, and reports an unfinished message.
func (fl *roceFlow) end() {
	for len(fl.ahead) > 0 && fl.giveUp(true) {
	}
	fl.abandon(ErrCut)
}

// drop drops all packets that wait.
func (fl *roceFlow) drop() {
	for len(fl.ahead) > 0 {
		fl.pop()
	}
}

// flushOld gives up the packets for which later ones have waited for too long, on all connections.
func (r *roce) flushOld() {
	if r.packets++; r.waiting == 0 || r.d.age(r.flushed) < flushInterval || r.packets < r.conns.Len()/flushShare {
		return
	}
	r.flushed, r.packets = r.d.clock.now, 0
	for e := r.conns.Front(); e != nil; e = e.Next() {
		for _, fl := range e.Value.(*roceConn).flows {
			fl.flushOld()
		}
	}
}

// flushOld gives up the packets for which later ones have waited for too long.
func (fl *roceFlow) flushOld() {
	for len(fl.ahead) > 0 && fl.giveUp(false) {
	}
}

// giveUp gives up the packets that are missing before the first waiting packet, or drops that packet as a stray one. It
// returns false if the packet goes on waiting. If end is true, no packet does.
func (fl *roceFlow) giveUp(end bool) bool {
	if !end && fl.c.r.d.age(fl.ahead[0].since) < maxAheadTime {
		return false
	}
	switch heard := fl.heard(); {
	case heard && (fl.beyond(0) || fl.leftBehind()):
		fl.discard(0)
	case end || !heard:
		fl.skip()
	default:
		return false
	}
	return true
}
