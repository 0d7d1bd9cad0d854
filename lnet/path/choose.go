package path

import (
	"syscall"

	"ulnet/lnet/nid"
)

// Kind is the kind of a message. The choice of its path depends on that, beside source and
// destination.
type Kind uint8

// Kinds of messages.
const (
	Request  Kind = iota // a PUT or GET that a user sends
	Reserved             // a PUT or GET for portal 0: pings and pushes
	Response             // an ACK or REPLY that this node sends
	Recovery             // a ping of one NI, to find out whether that NI is well
	Forward              // a message of another node, which this node forwards
)

// Query describes a message that needs a path.
type Query struct {
	Source nid.NID // NID of the local NI from which the message must leave; zero or Any: Choose chooses the NI
	Dest   nid.NID // destination NID, which is not one of this node's
	To     *Remote // the state of Dest; nil: nothing is known of that NID
	Kind   Kind    // kind of message; zero means Request
	Router nid.NID // for a Response: gateway by which the request came; zero: it came directly
}

// Choice is the path that was chosen.
type Choice struct {
	Local   *Local   // NI from which the message is to leave
	Hop     nid.NID  // the next hop: Dest, or a NID of the gateway
	Dest    nid.NID  // the NID in the query, or another one of the same node
	Gateway *Gateway // gateway of the path; nil: the path is direct

	hop      *Remote // the state of Hop; nil if that is unknown
	to       *Remote // the state of Query.Dest; nil if that is unknown
	nets     nets    // the nets of Local and Hop
	beyond   *Net[*Remote]
	remember bool // whether Local becomes the usual source for Dest
}

// Use notes that a message takes the path. hop is the state of Hop, which may have been
// unknown when the path was chosen; seq grows from message to message.
func (c *Choice) Use(hop *Remote, seq uint64) {
	c.Local.lastUse.Store(seq)
	hop.lastUse.Store(seq)
	if c.nets.there != nil {
		c.nets.there.lastUse.Store(seq)
	}
	if c.Gateway == nil {
		c.to = hop
	} else {
		c.Gateway.lastUse.Store(seq)
		if c.beyond != nil {
			c.beyond.lastUse.Store(seq)
			c.to.lastUse.Store(seq)
		}
	}
	if c.remember && c.to != nil {
		c.to.source.Store(c.Local)
	}
}

// Choose returns the path of a message.
//
//	EINVAL        Source is no NI of this node
//	EHOSTUNREACH  nothing leads to Dest
func Choose(t *Table, q *Query) (Choice, error) {
	if q.fixed() {
		l, n := t.local(q.Source)
		if l == nil {
			return Choice{}, syscall.EINVAL
		}
		if l.fits(q.Dest) {
			return Choice{Local: l, Hop: q.Dest, Dest: q.Dest, hop: q.To, to: q.To, nets: nets{here: n}}, nil
		}
		return t.route(q, l)
	}
	if peer := q.rails(); peer != nil {
		return t.overRails(q, peer)
	}
	return t.asGiven(q)
}

// fixed reports whether the query names the local NI.
func (q *Query) fixed() bool {
	src := &q.Source
	return src.IsValid() && !src.IsAny()
}

// multiRail reports whether the message may go to any NID of the destination's node. A
// recovery ping may not: it tests one NID.
func (q *Query) multiRail() bool {
	if q.To == nil || q.Kind == Recovery {
		return false
	}
	p := q.To.Peer()
	return p != nil && p.MultiRail
}

// rails returns the destination's node if the message may go to any of its NIDs, otherwise
// nil.
func (q *Query) rails() *Peer {
	if (q.Kind == Request || q.Kind == Reserved) && q.multiRail() && !q.fixed() {
		return q.To.Peer()
	}
	return nil
}

// source returns the NI from which the peer expects messages, if this message should leave by
// that NI.
func (q *Query) source() *Local {
	if q.To == nil || q.multiRail() {
		return nil
	}
	if l := q.To.source.Load(); l != nil && !l.Down() {
		return l
	}
	return nil
}

// asGiven chooses a path to exactly the destination of the query.
func (t *Table) asGiven(q *Query) (c Choice, err error) {
	source := q.source()
	if source != nil {
		if l, _ := t.local(source.NID); l != source {
			source = nil // the NI of that NID was removed from the node
		}
	}
	if n := t.net(keyOf(q.Dest)); n != nil {
		if source == nil || !source.fits(q.Dest) {
			source = bestLocal(n)
		}
		c = Choice{Local: source, Hop: q.Dest, Dest: q.Dest, hop: q.To, to: q.To, nets: nets{here: n}}
	} else if c, err = t.route(q, source); err != nil && source != nil {
		c, err = t.route(q, nil)
	}
	c.remember = (q.Kind == Request || q.Kind == Forward) && !q.multiRail()
	return c, err
}

// overRails chooses among all NIDs of the destination's node. A net that both nodes are on comes before all
// routes, unless only a route has a link that is up.
func (t *Table) overRails(q *Query, peer *Peer) (Choice, error) {
	best := t.bestNets(peer)
	if best.there == nil {
		return t.overRoutes(q, peer)
	}
	l := bestLocal(best.here)
	if l.Down() {
		if c, err := t.overRoutes(q, peer); err == nil && !c.Local.Down() {
			return c, nil
		}
	}
	r := bestRemote(best.there, l)
	if q.Kind == Reserved && t.asWell(q.To, l, r) {
		return t.asGiven(q)
	}
	return Choice{Local: l, Hop: r.NID, Dest: r.NID, hop: r, to: r, nets: best}, nil
}

// overRoutes chooses among those NIDs of the destination's node to which routes lead.
func (t *Table) overRoutes(q *Query, peer *Peer) (Choice, error) {
	beyond := t.bestBeyond(peer)
	if beyond == nil {
		return Choice{}, syscall.EHOSTUNREACH
	}
	r := bestRemote(beyond, nil)
	c, err := t.route(&Query{Dest: r.NID, To: r, Kind: q.Kind}, nil)
	c.beyond = beyond
	return c, err
}

// asWell reports whether a ping is to go to exactly the NID to which it is addressed, whose NI is the
// parameter to. The answer then shows whether that NI is well. The result is true if no other path is
// healthier: the NI must be at least as healthy as r, which is the best NI of the peer. And the best local NI
// on the NI's net must be at least as healthy as l.
func (t *Table) asWell(to *Remote, l *Local, r *Remote) bool {
	n := t.net(keyOf(to.NID))
	return n != nil && to.harm.Load() <= r.harm.Load() && bestLocal(n).harm.Load() <= l.harm.Load()
}
