package lnet

import (
	"fmt"
	"sync/atomic"
	"syscall"

	"ulnet/lnd"
)

// Bounds of the messages that wait for the discovery of their peer or for a connection that is being
// dialled, and of the answers that wait for anything; each kind is counted on its own. Local policy. This
// node's requests to a connected peer wait without a bound, as in LNet: the programs that send them can stop.
const (
	maxBacklog     = 1 << 18 // largest number of messages that wait, of all peers together
	maxPeerBacklog = 1 << 16 // largest number of messages that wait for one peer NI
	ownAnswers     = 256     // number of answers that may wait for each peer NI, however many wait for others
)

var (
	errBacklog = fmt.Errorf("too many messages wait for the discovery of this peer or for a connection to it: %w", syscall.ENOBUFS)
	errUnread  = fmt.Errorf("too many answers wait for this peer to read them: %w", syscall.ENOBUFS)
)

// backlog counts waiting messages. No peer may have more waiting messages than there are free places in the
// backlog (the dynamic threshold of shared-memory switches). So there is always room for messages to another
// peer, however many unreachable peers, or peers that read nothing, have used up their share.
type backlog struct {
	each    int // number of places that each peer has in any case
	count   atomic.Int64
	refused atomic.Uint64
}

// admit counts the waiting message m. The parameter own is the number of messages that wait already
// for the same peer. If too many wait, for that peer or in all, admit refuses m and returns false.
func (b *backlog) admit(m *Message, own int) bool {
	if b.full(own) {
		b.refused.Add(1)
		return false
	}
	m.backlog = true
	b.count.Add(1)
	return true
}

// full reports whether a further message to a peer would be refused. The parameter own is the number of messages that
// wait already for that peer.
func (b *backlog) full(own int) bool {
	return own >= b.each && int64(own) >= min(maxPeerBacklog, maxBacklog-b.count.Load())
}

// admit returns an error if m must not wait in p.queue, because too many messages wait already. It counts the
// answers, because the peer causes them: a peer that sends requests and does not read would make this node
// keep an answer for each. The caller holds p.mu.
func (p *peerNI) admit(m *Message) error {
	n := p.ni.node
	switch {
	case m.Answers != nil:
		if !n.answers.admit(m, int(p.answers.Load())) {
			return errUnread
		}
		p.answers.Add(1)
	case p.dialled > 0 && !n.backlog.admit(m, p.queue.Len()+p.parked.Len()):
		return errBacklog
	}
	return nil
}

// unread reports whether a request must be dropped because too many answers wait for the peer that it came
// from. To stop reading from that peer instead would be no way out: two nodes that request from each other,
// and read slowly, could then both stop for ever, each before the answers that the other one waits for.
func (n *Node) unread(d *lnd.Delivery) bool {
	p, ok := d.Cache.(*peerNI)
	if !ok {
		return false
	}
	own := int(p.answers.Load())
	return own > 0 && n.answers.full(own) && wantsAnswer(&d.Header)
}

// leave ends the wait of m, if it was admitted to one of the backlogs.
func (n *Node) leave(m *Message) {
	if !m.backlog {
		return
	}
	m.backlog = false
	if m.Answers == nil {
		n.backlog.count.Add(-1)
		return
	}
	m.peer.answers.Add(-1)
	n.answers.count.Add(-1)
}
