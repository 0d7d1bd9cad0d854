package engine

import (
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
)

// A client whose test was stopped by force has withdrawn its data, so LNet drops the GETs for them without an answer. Their
// memory would stay taken until RPCTimeout, and the next test of the client would wait for it. These constants bound how long.
const (
	patience   = 5 * time.Second        // time without the end of a GET after which its client may be silent
	lookAgain  = time.Second            // time between two looks at a GET that is older than patience
	restartGap = 100 * time.Millisecond // a request that comes later than this after a client's last data belongs to another test, because a unit sends its next request only after its RPC has ended
)

// client is what the server knows of a client of BRW tests while it moves data for it.
type client struct {
	moving   int           // the part of brwServer.moving that the client has, in bytes
	lastData time.Duration // when the latest GET that was answered ended
	answered uint64        // largest number of a GET that was answered
	probe    uint64        // number of the GET that was cancelled to find out whether its data have begun to arrive; 0: none
	silent   uint64        // GETs with numbers up to this one get no answer any more; 0: the client was never silent
	silentAt time.Duration // when that was found out
	lastRead time.Duration // when the latest read was served
	unsent   time.Duration // when the latest probe ended that had not left this node before it was cancelled
}

// doubt looks at the transfer of a GET that is older than patience, and does so again until the transfer has ended. It gives
// up the transfer if the client has become silent, and in any case after RPCTimeout.
func (n *Node) doubt(t *transfer) {
	age := n.now - t.began
	if n.cfg.RPCTimeout >= 0 && age >= n.cfg.RPCTimeout {
		n.expired(t)
		return
	}
	if c := n.brw.peers[t.of.peer.NID]; t.id <= c.silent || c.silent != 0 && t.of.at <= c.silentAt && t.id < c.answered {
		n.giveUp(t)
	} else if oldest := n.oldestGet(&c, t); oldest != nil {
		c.probe = oldest.id
		n.brw.peers[t.of.peer.NID] = c
		n.giveUp(oldest)
	}
	wait := lookAgain
	if n.cfg.RPCTimeout >= 0 {
		wait = min(wait, n.cfg.RPCTimeout-age)
	}
	n.after(&t.due, wait, t.due.Of)
}

// giveUp asks the shell to end the transfer of a GET. If its data have begun to arrive, the transfer goes on all the same, and
// the request gets its reply.
func (n *Node) giveUp(t *transfer) {
	if !t.doubted {
		t.doubted = true
		n.do(Effect{Kind: DoCancel, ID: t.id})
	}
}

// oldestGet returns the oldest GET to the client of t, for use as a probe, if the client may have become silent: no
// GET to it was answered for the time patience, and a request waits for the memory of these GETs (see wanted).
// Otherwise it returns nil. It also returns nil until an earlier probe has ended, and for the time patience after a
// probe that had not left this node.
func (n *Node) oldestGet(c *client, t *transfer) (oldest *transfer) {
	since := max(c.lastData, t.began)
	if c.probe != 0 || n.now-max(since, c.unsent) < patience || !n.wanted(t.of.peer.NID, since) {
		return nil
	}
	for _, o := range n.transfers { // any order: the smallest number is looked for
		if o.op == wire.Write && !o.cancelled && o.of.peer.NID == t.of.peer.NID && (oldest == nil || o.id < oldest.id) {
			oldest = o
		}
	}
	return oldest
}

// wanted reports whether a waiting request needs the memory of the GETs to the client id. That is a request of another
// client that has not used up its share, or a request that this client has sent for another test. A write belongs to
// another test if it came more than restartGap after since, the instant after which no GET was answered. A read must
// in addition have come more than patience after the latest read that was served.
func (n *Node) wanted(id nid.NID, since time.Duration) bool {
	newWrite := since + restartGap
	newRead := max(newWrite, n.brw.peers[id].lastRead+patience)
	return slices.ContainsFunc(n.brw.waiting, func(q request) bool {
		switch {
		case q.peer.NID != id:
			return n.inShare(&q)
		case q.Body.(*wire.BRW).Op == wire.Read:
			return q.at > newRead
		}
		return q.at > newWrite
	})
}

// served notes that a read of a client was served.
func (n *Node) served(t *transfer) {
	c := n.brw.peers[t.of.peer.NID]
	c.lastRead = n.now
	n.brw.peers[t.of.peer.NID] = c
}

// heard notes that a GET was answered, which shows that its client is alive.
func (n *Node) heard(t *transfer) {
	c := n.brw.peers[t.of.peer.NID]
	c.lastData, c.answered, c.probe = n.now, max(c.answered, t.id), 0
	n.brw.peers[t.of.peer.NID] = c
}

// heldUp notes that this node no longer waits for the end of a GET. If that GET was its client's probe, another GET can become the probe.
func (n *Node) heldUp(t *transfer) {
	if c := n.brw.peers[t.of.peer.NID]; c.probe == t.id {
		c.probe = 0
		n.brw.peers[t.of.peer.NID] = c
	}
}

// unheard handles the end of a GET that was given up before any of its data arrived. It does nothing if the GET is not
// the probe of its client, or if another GET was answered in the meantime. If the probe had not left this node before,
// it shows nothing about the client. Otherwise the client is silent: its other GETs are given up as well, and its
// waiting writes that arrived before its last data are dropped.
func (n *Node) unheard(t *transfer, unsent bool) {
	id := t.of.peer.NID
	c := n.brw.peers[id]
	if c.probe != t.id {
		return
	}
	if unsent {
		c.probe, c.unsent = 0, n.now
		n.brw.peers[id] = c
		return
	}
	c.probe, c.silent, c.silentAt = 0, n.lastID, n.now
	n.brw.peers[id] = c
	since := max(c.lastData, t.began)
	n.brw.waiting = slices.DeleteFunc(n.brw.waiting, func(q request) bool {
		old := q.peer.NID == id && q.at <= since && q.Body.(*wire.BRW).Op == wire.Write
		if old {
			n.drop()
		}
		return old
	})
}
