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
	// maxAheadTime is how long a packet waits. A lost packet is sent again after the timeout that Linux asks for, 2.1 s. IBTA
	// lets adapters wait four times as long.
	maxAheadTime = 10 * time.Second
	// largestAhead is how many packets of one direction can be missing at most: a packet further ahead is a stray one.
	largestAhead = 64 * maxAhead
)

// wait keeps a packet that came too early. If too many packets wait, it makes room.
func (fl *roceFlow) wait(f *roceFrame) {
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
	kept.awaits, kept.since = fl.next, fl.c.r.d.clock.now
	fl.ahead = slices.Insert(fl.ahead, i, &kept)
	fl.c.r.waiting += kept.pages()
	for len(fl.ahead) > maxAhead || len(fl.ahead) > 0 && fl.c.r.waiting >= maxWaiting {
		fl.makeRoom()
	}
}

// makeRoom gives up the packets that are missing before the first one that waits, unless there are too many of them and
// the responder has not acknowledged them: then the packets that wait are stray ones, and it drops the last one.
func (fl *roceFlow) makeRoom() {
	if fl.ahead[0].PSN.Sub(fl.next) <= largestAhead || fl.told == 0 {
		fl.skip()
		return
	}
	last := len(fl.ahead) - 1
	fl.c.r.waiting -= fl.ahead[last].pages()
	fl.c.r.d.counts.Outside++
	fl.ahead = slices.Delete(fl.ahead, last, last+1)
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

// acknowledged is called when the packet f acknowledges that the responder has all packets up to psn.
func (fl *roceFlow) acknowledged(f *roceFrame, psn ibta.PSN) {
	fl.acked, fl.told = psn, f.at.Frame
	for len(fl.ahead) > 0 && psn.Sub(fl.ahead[0].PSN) >= 0 {
		fl.skip()
	}
}

// lacks reports whether the responder does not have all packets before f: in a packet that was captured after f,
// it acknowledged only earlier ones.
func (fl *roceFlow) lacks(f *roceFrame) bool { return fl.told > f.at.Frame && f.PSN.Sub(fl.acked) > 1 }

// end processes all packets that wait, drops stray ones, and reports an unfinished message.
func (fl *roceFlow) end() {
	for len(fl.ahead) > 0 {
		fl.giveUp()
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
	if r.waiting == 0 || r.d.age(r.flushed) < flushInterval {
		return
	}
	r.flushed = r.d.clock.now
	for e := r.conns.Front(); e != nil; e = e.Next() {
		for _, fl := range e.Value.(*roceConn).flows {
			fl.flushOld()
		}
	}
}

// flushOld gives up the packets for which later ones have waited for too long.
func (fl *roceFlow) flushOld() {
	for len(fl.ahead) > 0 && fl.c.r.d.age(fl.ahead[0].since) >= maxAheadTime {
		fl.giveUp()
	}
}

// giveUp gives up the packets that are missing before the first waiting packet. But it drops that packet instead,
// as damaged or sent by another node, if the responder does not have the missing packets either, and the flow went
// on with packets before it, or it is too far ahead.
func (fl *roceFlow) giveUp() {
	f := fl.ahead[0]
	if fl.lacks(f) && (fl.next != f.awaits || f.PSN.Sub(fl.next) > largestAhead) {
		fl.pop()
		fl.c.r.d.counts.Outside++
		return
	}
	fl.skip()
}
