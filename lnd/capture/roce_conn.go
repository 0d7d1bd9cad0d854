package capture

import (
	"container/list"
	"net/netip"

	"ulnet/lnd/verbs/ibta"
)

// roceConn is a connection of two queue pairs, or what is known of one.
//
// A packet names the queue pair that it goes to, not the one that it comes from.
// The CM messages REQ and REP name both; where a capture does not have them the
// two directions count as two connections until a RoCE ACK shows that they are
// one.
type roceConn struct {
	Conn
	r      *roce
	age    *list.Element
	flows  [2]*roceFlow // flow of packets of each side, by sending side
	qps    [2]qpEnd     // the queue pair at which each side receives; zero: not known
	ids    [2]commEnd   // addresses and communication id of each side; zero: not known
	closed bool         // the record Closed has been emitted
	moving []*Transfer  // transfers that are not complete, the oldest first
}

// find returns the connection of a packet and the side that sent it. A new one
// is opened for a queue pair that is not known.
func (r *roce) find(f *roceFrame) (*roceConn, Side) {
	end := qpEnd{f.src, f.dst, f.DestQP}
	c := r.byQP[end]
	if f.OpCode == ibta.Acknowledge && (c == nil || c.qps[Initiator] == (qpEnd{})) {
		c = r.pair(c, end, f.PSN)
	}
	if c == nil {
		c = r.open(f.src, f.dst, f.at)
		r.name(c, Acceptor, end)
		r.midStream(c)
	}
	r.conns.MoveToBack(c.age)
	if c.qps[Initiator] == end {
		return c, Acceptor
	}
	return c, Initiator
}

// open begins a connection.
func (r *roce) open(src, dst netip.Addr, at Stamp) *roceConn {
	if r.conns.Len() >= maxRoceConns {
		r.d.counts.Evicted++
		r.forget(r.conns.Front().Value.(*roceConn), ErrEvicted)
	}
	r.d.conns++
	c := &roceConn{r: r, Conn: Conn{
		ID: r.d.conns, FirstFrame: at.Frame, RoCE: true,
		Ends: [2]netip.AddrPort{netip.AddrPortFrom(src, ibta.Port), netip.AddrPortFrom(dst, ibta.Port)},
	}}
	for side := range c.flows {
		c.flows[side] = &roceFlow{c: c, side: Side(side)}
	}
	c.age = r.conns.PushBack(c)
	r.note(c, Initiator, Opened, 0, nil)
	return c
}

// midStream records that the capture lacks the beginning of c.
func (r *roce) midStream(c *roceConn) {
	c.MidStream = true
	r.note(c, Initiator, MidStream, 0, nil)
}

// name records the address and queue pair to which packets for one side of a connection are
// sent. If another connection had that queue pair before, name ends the other connection.
func (r *roce) name(c *roceConn, side Side, end qpEnd) {
	if old := r.byQP[end]; old != nil && old != c {
		r.end(old, ErrReused)
		delete(r.byQP, end)
	}
	if c.qps[side] != (qpEnd{}) && c.qps[side] != end {
		delete(r.byQP, c.qps[side])
	}
	c.qps[side], r.byQP[end] = end, c
	c.QPs[side] = uint32(end.qp)
}

// identify records the communication id that one side of a connection has in messages of the
// connection manager.
func (r *roce) identify(c *roceConn, side Side, id commEnd) {
	if id.id == 0 {
		return
	}
	if c.ids[side] != (commEnd{}) && c.ids[side] != id && r.byID[c.ids[side]] == c {
		delete(r.byID, c.ids[side])
	}
	c.ids[side], r.byID[id] = id, c
}

// end emits the record that a connection is over.
func (r *roce) end(c *roceConn, cause error) {
	if !c.closed {
		c.closed = true
		for _, fl := range c.flows {
			fl.end()
		}
		r.note(c, Initiator, Closed, 0, cause)
	}
}

// forget drops a connection.
func (r *roce) forget(c *roceConn, cause error) {
	r.end(c, cause)
	for side := range c.qps {
		if r.byQP[c.qps[side]] == c {
			delete(r.byQP, c.qps[side])
		}
		if r.byID[c.ids[side]] == c {
			delete(r.byID, c.ids[side])
		}
	}
	for _, t := range c.moving {
		r.drop(t)
	}
	for _, fl := range c.flows {
		fl.drop() // packets that came after the end of the connection
	}
	r.conns.Remove(c.age)
}

// pair finds the connection to which a RoCE ACK belongs that has the number psn, and was sent to the
// queue pair that the parameter end identifies. It looks for a connection in which a packet with this
// PSN asked for an ACK, and whose initiator's queue pair is not known yet: it is this one. The
// parameter half is the connection that was opened for that queue pair before, or nil: pair joins it
// to the connection found. If there is none, pair returns half.
func (r *roce) pair(half *roceConn, end qpEnd, psn ibta.PSN) *roceConn {
	for e := r.conns.Back(); e != nil; e = e.Prev() {
		c := e.Value.(*roceConn)
		to := c.qps[Acceptor]
		if c == half || c.closed || c.qps[Initiator] != (qpEnd{}) || to.from != end.at || to.at != end.from || !c.flows[Initiator].asked(psn) {
			continue
		}
		if half != nil {
			r.join(c, half)
		}
		r.name(c, Initiator, end)
		return c
	}
	return half
}

// join makes half, of which one direction is known, the other direction of c.
func (r *roce) join(c, half *roceConn) {
	fl := half.flows[Initiator]
	half.flows[Initiator] = &roceFlow{c: half, side: Initiator}
	fl.c, fl.side = c, Acceptor
	c.flows[Acceptor] = fl
	for _, t := range half.moving {
		t.conn, t.From = c, t.From.Other()
	}
	c.moving = append(c.moving, half.moving...)
	half.moving = nil
	if !c.NIDs[Acceptor].IsValid() {
		c.NIDs[Acceptor] = half.NIDs[Initiator]
	}
	r.forget(half, ErrSame)
}
