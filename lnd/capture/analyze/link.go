package analyze

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
)

// End is an end of a link: a NID or, if the capture does not show it, an IP address.
type End struct {
	NID  nid.NID    // zero if not known
	Addr netip.Addr // set if the NID is not known
}

// String returns the NID or the address.
func (e End) String() string {
	if e.NID.IsValid() {
		return e.NID.String()
	}
	if e.Addr.IsValid() {
		return e.Addr.String()
	}
	return "others"
}

// MarshalText returns String.
func (e End) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// Compare orders ends by NID, then by address.
func (e End) Compare(f End) int {
	return cmp.Or(e.NID.Compare(f.NID), e.Addr.Compare(f.Addr))
}

// linkKey names the two ends of a link, the lesser one first; the zero key stands for all links
// that have no entry of their own.
type linkKey [2]End

// link is what the Analyzer knows of all connections between two NIDs.
type link struct {
	key    linkKey
	roce   bool
	open   int // connections that are open
	most   int // the largest number of connections that were open at one time
	sum    LinkCounts
	ended  [connTypes]int // connections that ended and were not replaced, by their type as the first end sees it
	sides  [2]linkSide
	heard  time.Duration // when a message of either side last came, or the first open connection was established
	limit  time.Duration // longest silence that keepalive allows; 0: there is no such limit
	silent Silence
}

// linkSide is what the Analyzer knows of one end of a link.
type linkSide struct {
	incarnation uint64
	sum         SideCounts
	cookies     cookies
}

// connTypes is the number of types of connections: those of socklnd, and one more for RDMA.
const connTypes = int(ksock.BulkOut) + 2

// links has all links, and all open connections, each of which belongs to a link.
type links struct {
	a     *Analyzer
	conns map[int]*conn
	byKey map[linkKey]*link
	byIP  map[linkKey]*link // links between NIDs, by the IP addresses of the NIDs
	list  []*link
}

func newLinks(a *Analyzer) links {
	return links{a: a, conns: map[int]*conn{}, byKey: map[linkKey]*link{}, byIP: map[linkKey]*link{}}
}

// record processes a record about a connection, if it is one of the connections that are followed.
func (ls *links) record(now time.Duration, r *capture.Record) {
	c := ls.conns[r.Conn.ID]
	if c == nil && r.Kind == capture.Opened {
		c = ls.opened(r.Conn)
	}
	if c == nil {
		return
	}
	switch r.Kind {
	case capture.Request:
		c.requested = r.Request.NID
	case capture.Hello:
		c.hello(now, r)
	case capture.Refusal:
		c.refused = true
	case capture.CMMessage:
		c.cm(now, r)
	case capture.Message, capture.Exchange, capture.Noop:
		c.traffic(now, r)
	case capture.Closed:
		c.close(now, r.Err)
		delete(ls.conns, r.Conn.ID)
	}
}

func (ls *links) opened(of *capture.Conn) *conn {
	if len(ls.conns) >= ls.a.limits.conns {
		ls.a.sum.Forgotten.Connections++
		return nil
	}
	c := &conn{ls: ls, of: of}
	ls.conns[of.ID] = c
	return c
}

// between returns the link between two ends. swapped reports whether a is the second end of the link.
func (ls *links) between(a, b End, roce bool) (l *link, swapped bool) {
	k := linkKey{a, b}
	if swapped = a.Compare(b) > 0; swapped {
		k = linkKey{b, a}
	}
	if l = ls.byKey[k]; l != nil {
		return l, swapped
	}
	if l = ls.byIP[k]; l != nil { // the connection ended before the HELLOs, so its ends are addresses
		return l, l.key[0].NID.Addr() != a.Addr
	}
	if len(ls.list) >= ls.a.limits.links {
		k = linkKey{}
		if l = ls.byKey[k]; l != nil {
			return l, swapped
		}
	}
	l = &link{key: k, roce: roce}
	ls.byKey[k], ls.list = l, append(ls.list, l)
	if x, y := k[0].NID.Addr(), k[1].NID.Addr(); x.IsValid() && y.IsValid() {
		ip := linkKey{{Addr: x}, {Addr: y}}
		if x.Compare(y) > 0 {
			ip[0], ip[1] = ip[1], ip[0]
		}
		ls.byIP[ip] = l
	}
	return l, swapped
}

// sorted returns the links in order.
func (ls *links) sorted() []*link {
	return slices.SortedFunc(slices.Values(ls.list), func(a, b *link) int {
		return cmp.Or(a.key[0].Compare(b.key[0]), a.key[1].Compare(b.key[1]))
	})
}

// established counts a connection. The parameter limit is the longest silence that keepalive allows; 0 if there is no
// such limit.
func (l *link) established(a *Analyzer, now time.Duration, typ int, limit time.Duration) {
	l.limit = limit
	l.sum.Connections++
	a.timeline.mark(now, markConnected)
	if l.ended[typ] > 0 {
		l.ended[typ]--
		l.sum.Reconnects++
	}
	if l.open++; l.open == 1 {
		l.heard = now
	}
	l.most = max(l.most, l.open)
}

// hear notes that something came from either side. The parameter limit is the longest silence that
// keepalive allows; 0 if there is no such limit.
func (l *link) hear(a *Analyzer, now time.Duration, limit time.Duration) {
	if l.open == 0 {
		return
	}
	if l.limit = limit; l.silent.add(l.heard, now, limit) {
		a.timeline.mark(l.heard, markSilence)
	}
	l.heard = max(l.heard, now)
}

// learn records the incarnation of a side. If it differs from the last one, the node has restarted, and the new
// incarnation does not know the cookies of the old one.
func (l *link) learn(a *Analyzer, now time.Duration, side int, incarnation uint64) {
	s := &l.sides[side]
	if incarnation != 0 && s.incarnation != 0 && s.incarnation != incarnation {
		s.sum.Restarts++
		a.timeline.mark(now, markRestart)
		l.giveUpCookies(a, now)
	}
	if incarnation != 0 {
		s.incarnation = incarnation
	}
}

// giveUpCookies makes both sides stop waiting for cookies. When all connections of a node to a peer are broken,
// the node fails the messages that are under way (lnet-wire §8.1).
func (l *link) giveUpCookies(a *Analyzer, now time.Duration) {
	for i := range l.sides {
		l.sides[i].giveUp(a, now)
	}
}
