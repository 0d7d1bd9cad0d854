package engine

import (
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
)

// unit sends the RPCs of a test to one destination, one after the other.
type unit struct {
	test    *test
	dest    nid.ProcessID
	loop    int32 // RPCs that are left, negative: without end
	running bool
	failed  int      // number of RPCs that have failed one after the other
	call    *call    // points to own while an RPC is under way; nil: none is
	again   deadline // time of the next RPC after one that failed
	own     call     // memory of the RPCs of the unit, of which only one is under way at a time
}

// call is an RPC of this node as client. It ends when three things have happened, in any order: the
// request was sent, the reply has arrived, and the bulk data, if there are any, were moved.
type call struct {
	id       uint64
	unit     *unit
	sequence uint32 // number of a PING request
	began    time.Duration
	sent     bool
	replied  bool
	status   wire.Status // status of the reply
	bulk     bool        // bulk data are expected
	memory   int         // the part of callers.taken that the RPC has
	corrupt  bool        // the bulk data, or the reply of a PING, are not what the RPC expects
	due      deadline
}

// call sends the next RPC of a unit.
func (n *Node) call(u *unit) {
	t, c := u.test, &u.own
	*c = call{id: n.nextID(), unit: u, began: n.now, due: c.due}
	m := wire.Message{Header: wire.Header{Features: t.features}, ReplyID: c.id}
	e := Effect{Kind: DoCall, ID: c.id, Peer: u.dest, Service: t.service}
	if t.service == wire.PingService {
		c.sequence = t.sequence
		t.sequence++
		n.ping = wire.Ping{Magic: wire.PingMagic, Sequence: c.sequence, Seconds: int64(n.now / 1e9), Nanoseconds: int64(n.now % 1e9)}
		m.Body = &n.ping
	} else {
		c.bulk, e.Bits, e.Op, e.Check = true, n.nextID(), t.params.Op, t.params.Check
		if e.Check == wire.CheckDiscard {
			e.Check = wire.CheckNone // kernel nodes put CheckNone into the request, too
		}
		e.Length, e.Offset = int(bulkLength(&t.params, t.features)), int(t.params.Offset%pageSize)
		n.brwCall = wire.BRW{BulkID: e.Bits, Op: e.Op, Length: uint32(e.Length), Check: e.Check}
		m.Body = &n.brwCall
	}
	e.Data, _ = m.AppendBinary(n.out.message()) // cannot fail: all values of these bodies can be encoded
	u.call, n.calls[c.id] = c, c
	c.memory = t.memory()
	n.callers.taken += c.memory
	n.stats.Sent++
	if c.due.Of == nil {
		c.due.Of = func() { n.expire(c) }
	}
	n.after(&c.due, n.cfg.RPCTimeout, c.due.Of)
	n.do(e)
}

// expire ends an RPC that has taken too long.
func (n *Node) expire(c *call) {
	n.stats.Expired++
	n.abort(c)
	n.over(c, true)
}

// abort ends an RPC at once.
func (n *Node) abort(c *call) {
	n.do(Effect{Kind: DoCancel, ID: c.id})
	n.forget(c)
}

func (n *Node) forget(c *call) {
	delete(n.calls, c.id)
	n.callers.taken -= c.memory
	n.deadlines.Clear(&c.due)
	c.unit.call = nil
}

// progress handles an input about an RPC: sent, replied, bulk data moved, or failed.
func (n *Node) progress(in *Input) {
	c := n.calls[in.ID]
	if c == nil {
		return
	}
	if in.Failed {
		n.stats.Errors++
		n.abort(c)
		n.over(c, true)
		return
	}
	switch in.Kind {
	case Sent:
		c.sent = true
	case Bulk:
		c.corrupt = c.bulk && in.Corrupt
		c.bulk = false
	case Replied:
		if !n.replied(c, in.Data) {
			n.abort(c)
			n.over(c, true)
			return
		}
	}
	if c.sent && c.replied && !c.bulk {
		n.forget(c)
		n.do(Effect{Kind: DoFree, ID: c.id})
		n.over(c, c.status != wire.OK || c.corrupt)
	}
}

// replied takes a reply, and reports whether it answers the request.
func (n *Node) replied(c *call, data []byte) bool {
	if c.replied {
		return true // a second reply changes nothing
	}
	m, err := wire.ParseMessage(data)
	if err != nil {
		return false
	}
	switch b := m.Body.(type) {
	case *wire.PingReply:
		if c.unit.test.service != wire.PingService {
			return false
		}
		if c.corrupt = b.Magic != wire.PingMagic || b.Sequence != c.sequence; c.corrupt {
			return false
		}
	case *wire.BRWReply:
		if c.unit.test.service != wire.BRWService {
			return false
		}
	default:
		return false
	}
	c.replied, c.status = true, m.Status
	if c.bulk && m.Status != wire.OK { // the server will not move the data
		c.bulk = false
		n.do(Effect{Kind: DoUnpost, ID: c.id})
	}
	return true
}

// over goes on with the unit of an RPC that has ended. Failures of the network do not count while the test is being stopped, because
// a stop by force causes them; damage and refusals count, as at kernel nodes.
func (n *Node) over(c *call, failed bool) {
	u, t := c.unit, c.unit.test
	u.failed++
	if !failed {
		u.failed = 0
		n.latencies.add(n.now - c.began)
	} else if !t.stopping || c.corrupt || c.status != wire.OK {
		n.count(t)
	}
	if u.loop > 0 {
		u.loop--
	}
	switch {
	case t.stopping, u.loop == 0, failed && t.stopOnError:
		n.halt(u)
	case failed:
		n.after(&u.again, n.retryDelay(u.failed), func() { n.queue(u) })
	default:
		n.queue(u)
	}
}

// count counts an RPC that failed.
func (n *Node) count(t *test) {
	if t.service == wire.PingService {
		t.session.pingErrors++
		n.stats.PingErrors++
		return
	}
	t.session.brwErrors++
	n.stats.BRWErrors++
}

// halt ends a unit.
func (n *Node) halt(u *unit) {
	n.deadlines.Clear(&u.again)
	u.running = false
	u.test.running--
}
