package analyze

import (
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/nid"
)

// conn is one connection while it is open.
type conn struct {
	ls *links
	of *capture.Conn

	link        *link
	swapped     bool // the initiator is the second end of the link
	established bool
	refused     bool    // the acceptor refused the request, the HELLO or the REQ
	asked       bool    // the initiator sent a REQ with a message of o2iblnd
	requested   nid.NID // NID that the initiator asked the acceptor for
	greeted     [2]bool
	version     [2]ksock.Version
	incarnation [2]uint64
	typ         int
	credits     [2]credits // of an RDMA connection: credits for sending, by the side that sends
}

// side returns which end of the link, 0 or 1, a side of the connection is.
func (c *conn) side(s capture.Side) int {
	if c.swapped {
		return int(s.Other())
	}
	return int(s)
}

// join finds the link to which the connection belongs: by the NIDs of its ends, and by the IP address
// of an end whose NID is not known.
func (c *conn) join() *link {
	if c.link == nil {
		var ends [2]End
		for s := range ends {
			ends[s] = End{NID: c.of.NIDs[s]}
			if s == int(capture.Acceptor) && !ends[s].NID.IsValid() {
				ends[s] = End{NID: c.requested}
			}
			if !ends[s].NID.IsValid() {
				ends[s] = End{Addr: c.of.Ends[s].Addr()}
			}
		}
		c.link, c.swapped = c.ls.between(ends[0], ends[1], c.of.RoCE)
	}
	return c.link
}

// hello processes a HELLO. Once both sides have sent one of the same version, the connection is
// established.
func (c *conn) hello(now time.Duration, r *capture.Record) {
	if r.Err != nil {
		return
	}
	if r.Hello.ConnType == ksock.None {
		c.refused = c.refused || r.From == capture.Acceptor
		return
	}
	c.greeted[r.From], c.version[r.From], c.incarnation[r.From] = true, r.Hello.Version, r.Hello.SrcIncarnation
	if r.From == capture.Initiator {
		c.typ = int(r.Hello.ConnType)
	}
	if !c.established && c.greeted == [2]bool{true, true} && c.version[0] == c.version[1] {
		c.establish(now)
	}
}

// establish counts the connection in its link, and notes the incarnations of both sides there.
func (c *conn) establish(now time.Duration) {
	l := c.join()
	c.established = true
	c.typ = c.typeOfFirst()
	l.established(c.ls.a, now, c.typ, c.keepalive())
	for s, incarnation := range c.incarnation {
		l.learn(c.ls.a, now, c.side(capture.Side(s)), incarnation)
	}
}

// typeOfFirst returns the type of the connection as the first end of the link sees it. A connection
// that is BulkIn for one end is BulkOut for the other.
func (c *conn) typeOfFirst() int {
	switch t := ksock.ConnType(c.typ); {
	case c.of.RoCE:
		return connTypes - 1
	case c.swapped && t == ksock.BulkIn:
		return int(ksock.BulkOut)
	case c.swapped && t == ksock.BulkOut:
		return int(ksock.BulkIn)
	}
	return min(max(c.typ, 0), connTypes-2)
}

// cm processes a message of the connection manager. The reply to a request establishes the
// connection.
func (c *conn) cm(now time.Duration, r *capture.Record) {
	if r.RoCE.HasMsg {
		c.incarnation[r.From] = r.RoCE.Msg.SrcStamp
	}
	switch r.RoCE.CM.MAD.Attribute {
	case ibta.AttrREQ:
		c.asked = c.asked || r.RoCE.HasMsg
	case ibta.AttrREP:
		if r.RoCE.HasMsg && !c.established {
			c.establish(now)
			depth := int(r.RoCE.Msg.Params.QueueDepth)
			c.credits = [2]credits{{depth: depth, left: depth}, {depth: depth, left: depth}}
		}
	case ibta.AttrREJ:
		c.refused = c.refused || c.asked || c.established || r.RoCE.HasReject // otherwise the REJ is of another program
	}
}

// traffic counts a message on the connection for the side that sent it.
func (c *conn) traffic(now time.Duration, r *capture.Record) {
	if !c.established {
		c.assume(now, r)
	}
	l, a := c.link, c.ls.a
	l.hear(a, now, c.keepalive())
	side := c.side(r.From)
	sum := &l.sides[side].sum
	if r.Kind == capture.Message {
		sum.Messages++
		sum.Bytes += uint64(r.Header.PayloadLength)
	}
	if c.of.RoCE {
		c.credit(now, r)
		return
	}
	if r.Ksock.IsKeepalive() {
		sum.Keepalives++
	}
	l.zeroCopy(a, now, side, r)
}

// assume counts a connection that was open before the capture as established, at its first message. It
// takes the NIDs in the message's header for those of the connection, unless a router is at an end.
func (c *conn) assume(now time.Duration, r *capture.Record) {
	if r.Kind == capture.Message && !c.of.RoCE {
		var ends [2]End
		ends[r.From] = c.guess(r.From, r.Header.SrcNID)
		ends[r.From.Other()] = c.guess(r.From.Other(), r.Header.DestNID)
		c.link, c.swapped = c.ls.between(ends[0], ends[1], false)
	}
	c.establish(now)
}

// guess returns an end of a connection without a HELLO: the NID n, which a message names, or the IP
// address of the end if n has another address.
func (c *conn) guess(s capture.Side, n nid.NID) End {
	if isEnd(c.of, s, n) {
		return End{NID: n}
	}
	return End{Addr: c.of.Ends[s].Addr()}
}

// keepalive returns how long a connection may be silent: the interval of its keepalive, with some
// time for timers that are late; 0 if its version has none (lnet-wire §8.4, o2iblnd-wire §9).
func (c *conn) keepalive() time.Duration {
	const slack = 15 * time.Second
	switch {
	case c.of.RoCE:
		return 100*time.Second + slack
	case c.of.Version == ksock.V1, c.of.Version == ksock.V2:
		return 0
	}
	return 30*time.Second + slack
}

// close ends the connection.
func (c *conn) close(now time.Duration, cause error) {
	if cause == capture.ErrSame {
		c.disown()
		return
	}
	if c.of.RoCE && !c.established && !c.asked && !c.refused {
		return // another program's, or one of which the capture has no message
	}
	l, a := c.join(), c.ls.a
	openEnd := cause == capture.ErrOpenEnd // the connection goes on after the end of the capture
	if c.established {
		l.hear(a, now, c.keepalive())
		if !openEnd {
			l.open--
		}
		if l.open == 0 {
			l.giveUpCookies(a, now)
		}
	}
	for s := range c.credits {
		c.credits[s].out.set(a, now, false, &l.sides[c.side(capture.Side(s))].sum.NoCredit)
	}
	for s := range c.of.TCP {
		l.sides[c.side(capture.Side(s))].sum.TCP.add(c.of.TCP[s])
	}
	c.countEnd(now, openEnd, cause)
}

// countEnd counts how the connection ended. One that was not established counts as an attempt that failed if the
// capture has its beginning and its end.
func (c *conn) countEnd(now time.Duration, openEnd bool, cause error) {
	l := c.link
	switch {
	case openEnd && (c.established || c.greeted != [2]bool{}):
	case cause == capture.ErrEvicted: // the dissector no longer follows the connection, so its end is not known
	case c.established:
		l.ended[c.typ]++
		l.sum.Ended++
		c.ls.a.timeline.mark(now, markEnded)
		if cause == capture.ErrReset {
			l.sum.Reset++
		}
	case c.refused:
		l.sum.Refused++
	case !openEnd && !c.of.MidStream:
		l.sum.Failed++
	}
}

// disown subtracts the connection from the counts of its link, because it is only one direction of
// another connection, which is counted.
func (c *conn) disown() {
	if c.established {
		c.link.sum.Connections--
		c.link.open--
	}
}
