package lnet

import (
	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Posting is a message of a list for [Node.PostList].
type Posting struct {
	Inline              // message, whose Header names the length of Payload
	Payload lnd.Payload // payload, of at most lnd.MaxInline bytes
}

// PostList posts the messages of a list, which is not empty, in their order, as calls of [Node.Post] do.
// But it locks the peer once, and if the connection is idle, all leave with one write. All messages have
// the same destination, and all have the same source or none. PostList returns how many messages from
// the first one on it has taken: 0 if Post would not take the first. Messages that were taken are not
// used by PostList any more when it returns.
func (n *Node) PostList(list []Posting) (taken int) {
	p := n.posts(&list[0].Inline)
	if p == nil {
		return 0
	}
	for i := range list {
		n.fillIn(&list[i].Header, p.ni)
	}
	flush, taken := p.postList(list)
	for _, f := range flush {
		if f != nil {
			f.Flush()
		}
	}
	return taken
}

// posts returns the peer to which a message can be posted, or nil.
func (n *Node) posts(i *Inline) *peerNI {
	h := &i.Header
	ni := n.view.Load().sole
	if ni == nil || ni.poster == nil || i.Answers != nil && i.Answers != ni {
		return nil
	}
	p := ni.recent.find(&h.DestNID) // find takes a pointer, because copying a NID that was just written would stall the processor
	if p == nil {
		p = n.peers.find(h.DestNID, ni)
	}
	if p == nil || p.remote.Peer().Rails() || ni.linkError() != nil || i.Pinned && h.SrcNID != ni.nid {
		return nil
	}
	return p
}

// fillIn fills in the source of a message, and LustrePID as the PID of the destination if the message
// names none.
func (n *Node) fillIn(h *wire.Header, ni *NI) {
	h.SrcNID = ni.nid
	h.SrcPID = n.cfg.PID
	if h.DestPID == nid.PIDAny || h.DestPID == 0 {
		h.DestPID = nid.LustrePID
	}
}

// postList posts messages of the list, until one would have to wait or messages have gone to a second
// connection. The caller flushes the connections that flush names, at most two. taken is the number of
// messages posted.
func (p *peerNI) postList(list []Posting) (flush [2]lnd.Flusher, taken int) {
	undo := false
	p.mu.Lock()
	for ready := p.mayPost(); ready && taken < len(list) && flush[1] == nil && !undo; taken++ {
		i := &list[taken].Inline
		p.address(i)
		var f lnd.Flusher
		var ok bool
		if f, ok, undo = p.fill(i, list[taken].Payload); !ok {
			break
		}
		if flush[0] == nil {
			flush[0] = f
		} else if f != flush[0] {
			flush[1] = f
		}
	}
	p.mayJoin()
	p.mu.Unlock()
	if undo {
		p.ni.undoCredit(p)
	}
	return flush, taken
}

// mayPost reports whether messages to p may be posted, as far as credits allow. The caller holds p.mu.
func (p *peerNI) mayPost() bool {
	return !p.launching && p.queue.Len() == 0 && p.current && p.gone == nil && !p.evicted.Load()
}
