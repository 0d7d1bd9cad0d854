package lnet

import (
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
)

// Inline is a small message whose header and payload the driver copies when it is posted, so
// that its memory is free at once and no [Message] is needed while it is on its way. The upper
// layer calls [Inline.Init] once for each value, and hands the value to [Node.Post], which owns
// it until [InlineUpper] Left or Lost.
type Inline struct {
	lnd.Inline
	// Upper is the upper layer's: the structure that this Inline is part of.
	Upper any
	// Answers is as in Message; nil for a message that is no answer.
	Answers *NI

	peer *peerNI
}

// Init ties the embedded driver part to i. Call it once, before the first Post.
func (i *Inline) Init() { i.Owner = i }

// Next returns the message after i in a list of [InlineUpper] Left, or nil.
func (i *Inline) Next() *Inline {
	if i.Link == nil {
		return nil
	}
	return i.Link.Owner.(*Inline)
}

// InlineUpper is an Upper that posts messages.
type InlineUpper interface {
	Upper
	// Left reports that messages have left: first, and those after it.
	Left(first *Inline)
	// Lost reports that a message has failed, and takes its Inline back. It returns a Message
	// with the same header and a copy of the payload, which is valid until Lost returns. lnet
	// may send the Message again; Sent ends it.
	Lost(i *Inline, payload []byte) *Message
}

// Post sends a small message like [Node.Send], from the NI that Send would choose. It returns
// false, and does nothing, if the message would have to wait for anything, there is a choice
// of paths, or the driver does not copy messages; then the caller calls Send. i.Header is complete
// but for its source: SrcNID may be zero or Any, and Post fills it in, the PID, and i.To.
func (n *Node) Post(i *Inline, payload lnd.Payload) bool {
	h := &i.Header
	ni := n.view.Load().sole
	if ni == nil || ni.poster == nil || i.Answers != nil && i.Answers != ni {
		return false
	}
	p := n.peers.find(h.DestNID, ni)
	if p == nil || p.remote.Peer().Rails() || ni.linkError() != nil {
		return false
	}
	if src := &h.SrcNID; *src != ni.nid && src.IsValid() && !src.IsAny() {
		return false
	}
	h.SrcNID, h.SrcPID = ni.nid, n.cfg.PID
	if h.DestPID == nid.PIDAny || h.DestPID == 0 {
		h.DestPID = nid.LustrePID
	}
	flush, taken := p.post(i, payload)
	if flush != nil {
		flush.Flush()
	}
	return taken
}

// post gives a message to the driver, if there are credits and nothing waits. The driver's Post
// makes no upcall, so p.mu keeps the order of the messages.
func (p *peerNI) post(i *Inline, payload lnd.Payload) (flush lnd.Flusher, taken bool) {
	p.mu.Lock()
	if p.launching || p.credits <= 0 || p.queue.Len() > 0 || !p.current || p.gone != nil || p.evicted.Load() || !p.ni.postCredit(p) {
		p.mu.Unlock()
		return nil, false
	}
	i.peer = p
	i.To.NID, i.To.PID = p.nid, i.Header.DestPID
	p.ni.node.inFlight.inc() // before another goroutine can end the message
	p.ni.pending.Add(1)
	flush, taken = p.ni.poster.Post(&i.Inline, payload)
	if !taken {
		p.mu.Unlock()
		p.ni.undoCredit(p)
		p.ni.node.inFlight.dec()
		p.ni.ended()
		return nil, false
	}
	p.credits--
	p.minCredits = min(p.minCredits, p.credits)
	p.queuedBytes += headerBytes + payload.Length
	p.mu.Unlock()
	return flush, true
}

// Left implements lnd.InlineUpcalls.
func (ni *NI) Left(first *lnd.Inline, n int, at time.Duration) {
	i := first.Owner.(*Inline)
	p, bytes := i.peer, 0
	for l := first; l != nil; l = l.Link {
		ni.traffic.countSent(l.Header.Type, l.Length())
		p.traffic.countSent(l.Header.Type, l.Length())
		bytes += headerBytes + l.Length()
	}
	if at == 0 {
		at = ni.node.cfg.Clock.Now()
	}
	ni.heal()
	p.contacts.of(first.To.PID).sent.advance(at)
	ni.node.inFlight.sub(n)
	p.restore(n, bytes)
	ni.node.upper.(InlineUpper).Left(i)
	ni.wakeSenders()
	p.goOn()
	ni.endedAll(n)
}

// restore returns the credits of n messages that have left, and takes their size, in bytes, off
// the queued bytes. It runs before the handlers of their events, so that a handler can send.
// Messages that wait for credits go on after those events.
func (p *peerNI) restore(n, bytes int) {
	p.ni.mu.Lock()
	p.ni.tx.put(p, n)
	p.ni.tellCredits()
	p.ni.mu.Unlock()
	p.mu.Lock()
	p.credits += n
	p.queuedBytes -= bytes
	p.mu.Unlock()
}

// Lost implements lnd.InlineUpcalls.
func (ni *NI) Lost(l *lnd.Inline, payload []byte, err error) {
	i := l.Owner.(*Inline)
	p, to := i.peer, i.To
	m := ni.node.upper.(InlineUpper).Lost(i, payload)
	m.reset()
	m.peer, m.ni, m.dest, m.Target = p, ni, m.Header.DestNID, to
	ni.Finalize(&m.Message, err)
}
