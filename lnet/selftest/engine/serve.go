package engine

import (
	"time"

	"ulnet/lnet/selftest/wire"
)

// transfer is bulk data that this node moves for a request.
type transfer struct {
	id     uint64
	of     request
	op     wire.BRWOp
	length int
	began  time.Duration
	due    deadline
	list   bool // the data are the list of destinations of a TEST request
	// cancelled: the request is dropped, and the transfer keeps its memory until the shell reports its end. A
	// client that sends its data byte by byte could otherwise make this node use more memory than MaxBulk.
	cancelled bool
	doubted   bool // the shell was asked to end the GET unless its data have begun to arrive
}

// servePing answers a request of a PING test. A wrong magic gets no answer.
func (n *Node) servePing(q *request) {
	ping := q.Body.(*wire.Ping)
	if ping.Magic != wire.PingMagic {
		n.drop()
		return
	}
	status, features := wire.OK, q.Features
	if features&^wire.KnownFeatures != 0 {
		status, features = wire.EPROTO, wire.KnownFeatures
	}
	n.pingReply = wire.PingReply{Magic: wire.PingMagic, Sequence: ping.Sequence}
	n.answer(q, wire.Message{Header: wire.Header{Features: features}, Status: status, Body: &n.pingReply})
}

// serveBRW moves the data of a request of a BRW test, or refuses it.
func (n *Node) serveBRW(q *request) {
	if status := judgeBRW(q); status != wire.OK {
		n.answerBRW(q, status)
		return
	}
	if n.fitsBRW(q) && !n.waitsBRW(q.peer.NID) {
		n.moveBRW(q)
		return
	}
	if len(n.brw.waiting) >= n.cfg.MaxWaiting {
		n.stats.Overload++
		n.drop()
		return
	}
	n.brw.waiting = append(n.brw.waiting, *q)
}

// judgeBRW returns the status with which a request is refused (selftest §7), or OK.
func judgeBRW(q *request) wire.Status {
	b := q.Body.(*wire.BRW)
	switch {
	case b.Op != wire.Read && b.Op != wire.Write, b.Check < wire.CheckNone || b.Check > wire.CheckDiscard:
		return wire.EINVAL
	case q.Features&^wire.KnownFeatures != 0:
		return wire.EPROTO
	case q.Features&wire.BulkLength == 0 && b.Length%pageSize != 0, b.Length == 0 || b.Length > MaxLength:
		return wire.EINVAL
	}
	return wire.OK
}

func (n *Node) moveBRW(q *request) {
	b := q.Body.(*wire.BRW)
	n.brw.take(q, memory(q))
	kind, wait := DoPut, n.cfg.RPCTimeout
	if b.Op == wire.Write {
		kind = DoGet
		if wait < 0 || wait > patience {
			wait = patience
		}
	}
	t := n.begin(q, int(b.Length), wait)
	t.op = b.Op
	n.do(Effect{
		Kind: kind, ID: t.id, Peer: q.peer, Self: q.self, Bits: b.BulkID, Length: t.length, Check: b.Check, BigEndian: q.BigEndian,
	})
}

// begin makes a transfer. If the shell does not report the end of the transfer within the time wait, begin calls late.
func (n *Node) begin(q *request, length int, wait time.Duration) *transfer {
	t := &transfer{id: n.nextID(), of: *q, length: length, began: n.now}
	n.transfers[t.id] = t
	n.after(&t.due, wait, func() { n.late(t) })
	return t
}

// late is called when a transfer has not ended within the time wait, a parameter of the function begin. A GET of bulk
// data (wire.Write) may get more time, see doubt; any other transfer has expired.
func (n *Node) late(t *transfer) {
	if t.op == wire.Write {
		n.doubt(t)
		return
	}
	n.expired(t)
}

// expired cancels a transfer that has not ended in time. A GET of bulk data (wire.Write) keeps its memory until the
// shell reports that the GET has ended. Other transfers end at once. They are the GET of a list of destinations, and
// PUTs (wire.Read): a PUT has no memory of its own, because all PUTs send one shared pattern.
func (n *Node) expired(t *transfer) {
	if !t.doubted {
		n.do(Effect{Kind: DoCancel, ID: t.id})
	}
	if t.list || t.op == wire.Read {
		n.finish(t, &Input{Failed: true})
		return
	}
	t.cancelled = true
	n.heldUp(t)
	n.stats.Errors++
	n.drop()
	n.nextBRW()
}

// moved handles the report that a transfer has ended.
func (n *Node) moved(in *Input) {
	if t := n.transfers[in.ID]; t != nil {
		n.finish(t, in)
	}
}

// finish ends a transfer and the request that it belongs to. A transfer that failed, or was cancelled, gets no
// reply.
func (n *Node) finish(t *transfer, in *Input) {
	delete(n.transfers, t.id)
	n.deadlines.Clear(&t.due)
	switch {
	case t.list:
		n.fetched(t, in)
		return
	case t.cancelled:
	case in.Failed:
		n.stats.Errors++
		n.drop()
		if t.doubted {
			n.unheard(t, in.Unsent)
		}
	case t.op == wire.Read:
		n.stats.BulkPut += uint64(t.length)
		n.served(t)
		n.answerBRW(&t.of, wire.OK)
	default:
		n.stats.BulkGet += uint64(t.length)
		n.heard(t)
		status := wire.OK
		if in.Corrupt {
			status = wire.EBADMSG
		}
		n.answerBRW(&t.of, status)
	}
	n.brw.take(&t.of, -memory(&t.of))
	n.nextBRW()
}

func (n *Node) answerBRW(q *request, status wire.Status) {
	features := q.Features
	if status == wire.EPROTO {
		features = wire.KnownFeatures
	}
	n.answer(q, wire.Message{Header: wire.Header{Features: features}, Status: status, Body: &wire.BRWReply{}})
}
