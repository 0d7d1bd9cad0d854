package engine

import (
	"slices"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
)

// brwServer serves BRW requests as far as there is memory for their data.
type brwServer struct {
	moving  int                // bytes of bulk data under way, as the function memory counts them
	peers   map[nid.NID]client // clients that have a part of moving
	waiting []request          // requests that wait for memory
}

// take takes memory for a request, or returns it if size is negative.
func (s *brwServer) take(q *request, size int) {
	s.moving += size
	c := s.peers[q.peer.NID]
	if c.moving += size; c.moving == 0 {
		delete(s.peers, q.peer.NID)
		return
	}
	s.peers[q.peer.NID] = c
}

// inShare reports whether the client of a request has memory left of its quarter.
func (n *Node) inShare(q *request) bool {
	return n.brw.peers[q.peer.NID].moving+memory(q) <= max(n.cfg.MaxBulk/4, MaxLength)
}

// fitsBRW reports whether there is memory for a request.
func (n *Node) fitsBRW(q *request) bool {
	return n.inShare(q) && n.brw.moving+memory(q) <= n.cfg.MaxBulk
}

// waitsBRW reports whether a request of a client must wait behind others: a request of the same client waits already,
// or one of another client that has memory left of its share.
func (n *Node) waitsBRW(client nid.NID) bool {
	return slices.ContainsFunc(n.brw.waiting, func(q request) bool { return q.peer.NID == client || n.inShare(&q) })
}

// nextBRW serves the requests that wait for memory, in their order. A request whose client has used
// its share is overtaken by requests of other clients. Requests that have waited for RPCTimeout get
// no reply, because their clients have given up.
func (n *Node) nextBRW() {
	left := n.brw.waiting[:0]
	full, behind := false, map[nid.NID]bool{} // the keys of behind are clients of which an earlier request waits
	for _, q := range n.brw.waiting {
		switch {
		case n.cfg.RPCTimeout >= 0 && n.now-q.at >= n.cfg.RPCTimeout:
			n.drop()
		case !full && !behind[q.peer.NID] && n.fitsBRW(&q):
			n.moveBRW(&q)
		default:
			full = full || !behind[q.peer.NID] && n.inShare(&q)
			behind[q.peer.NID] = true
			left = append(left, q)
		}
	}
	clear(n.brw.waiting[len(left):])
	n.brw.waiting = left
}

// memory returns what a BRW request counts for against MaxBulk: its data or, because each
// transfer needs some memory besides them, a page if that is more.
func memory(q *request) int { return max(int(q.Body.(*wire.BRW).Length), pageSize) }
