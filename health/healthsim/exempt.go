package healthsim

import (
	"slices"
	"time"

	"ulnet/health"
	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// tolerable is the longest pause of a client that must not lead to its eviction.
func (t *groundTruth) tolerable() time.Duration {
	return t.net.timing.Evict - t.net.timing.Ping - t.net.timing.Ping/5
}

// tolerableCut is the same for the time in which a client is cut off from a server.
func (t *groundTruth) tolerableCut() time.Duration { return t.tolerable() - t.net.timing.Ping }

// tolerableLoss is the greatest share of lost messages that must not lead to evictions. To be evicted, a
// client must lose all its pings in T_evict, and it repeats those without an answer.
const tolerableLoss = 0.05

// tolerableSkew is how wrong a clock may be, in µs per second, before that is a reason for evictions. With the
// clocks of a client and of its master wrong by so much in opposite directions, the longest tolerable pause and a
// ping interval before it are still shorter than T_evict.
const tolerableSkew = 30_000

// poor reports whether a link loses or delays messages so much that evictions are allowed.
func (t *groundTruth) poor(q link.Quality) bool {
	late := q.Latency.Max()
	if q.Reorder > 0 {
		late += max(q.Hold.Max(), link.DefaultHold)
	}
	return q.Loss > tolerableLoss || late > t.net.timing.Ping/10
}

// poorPath reports whether a link loses or delays messages from one node to another too much.
func (t *groundTruth) poorPath(from, to sim.NodeID) bool { return t.anyLink(from, to, t.poor) }

// anyLink reports whether the quality of a link from one node to another is bad.
func (t *groundTruth) anyLink(from, to sim.NodeID, bad func(link.Quality) bool) bool {
	for _, q := range t.links {
		for _, r := range t.rules {
			if r.From.Has(from) && r.To.Has(to) {
				q = r.change.Apply(q)
			}
		}
		if bad(q) {
			return true
		}
	}
	return false
}

// poorBetween reports whether the path between two nodes is poor in either direction.
func (t *groundTruth) poorBetween(a, b sim.NodeID) bool { return t.poorPath(a, b) || t.poorPath(b, a) }

// judgeLinks finds out which nodes have poor links, after a change of links.
func (t *groundTruth) judgeLinks() {
	servers := sim.NodeID(t.net.cfg.servers)
	some := len(t.rules) > 0
	for _, q := range t.links {
		some = some || t.poor(q)
	}
	among := false
	for a := range servers {
		for b := range a {
			among = among || some && t.poorBetween(a, b)
		}
	}
	t.poorAmong = among
	for i := range t.nodes {
		id := sim.NodeID(i)
		t.nodes[i].links = among
		for s := sim.NodeID(0); some && s < servers && !t.nodes[i].links; s++ {
			t.nodes[i].links = s != id && t.poorBetween(id, s)
		}
	}
}

// inTrouble reports whether servers may evict the client on a node now. They may if its process has been
// paused for too long, if a server has been out of its reach for too long, if its links are poor, or if its
// clock or that of a server is wrong or slow.
func (t *groundTruth) inTrouble(id sim.NodeID) bool {
	f := &t.nodes[id]
	if t.away(f) || f.links || f.skewed || f.slow {
		return true
	}
	for s := range sim.NodeID(t.net.cfg.servers) {
		if t.nodes[s].skewed || t.nodes[s].slow {
			return true
		}
	}
	return false
}

// away reports whether a client's process has been paused, or a server has been out of its reach, for longer
// than it takes until servers may evict the client.
func (t *groundTruth) away(f *nodeHistory) bool {
	return f.stopped && t.now()-f.paused >= t.tolerable() || f.far && t.now()-f.farAt >= t.tolerableCut()
}

// ending is called before something that may end the trouble of clients (see inTrouble). It
// records for each client in trouble that the trouble has lasted until now.
func (t *groundTruth) ending() {
	for id := range t.net.each(sim.AllNodes) {
		if t.inTrouble(id) {
			t.nodes[id].trouble = t.now()
		}
	}
}

// justly reports whether a server may evict an incarnation of the client on a node with the given
// cause. A fault justifies evictions for a limited time, which is longer if the server itself was
// paused.
func (t *groundTruth) justly(id, server sim.NodeID, incarnation uint64, cause health.Cause) bool {
	window := t.net.timing.Evict
	switch cause {
	case health.ByAdmin:
		return t.nodes[t.nodes[id].client].ordered == incarnation
	case health.LostMaster:
		window = t.net.timing.Orphan
	}
	window += 2 * t.net.timing.Tick
	if s := &t.nodes[server]; s.stood > 0 && t.now()-s.resumed <= window {
		window += s.stood
	}
	return t.inTrouble(id) || t.now()-window <= t.nodes[id].trouble || t.net.beside(&t.nodes[id])
}

// unheard reports whether a server evicts a client as an orphan that was out of its reach lately. It may not know that
// the client has chosen another master, which the other servers know.
func (n *network) unheard(server sim.NodeID, e *health.Event) bool {
	since := n.Now() - n.timing.Orphan - 2*n.timing.Tick
	return e.Cause == health.LostMaster && slices.ContainsFunc(n.claimants(nodeOf(e.Client)), func(k sim.NodeID) bool {
		return n.groundTruth.nodes[k].parted(server, since)
	})
}

// passedOn reports whether a server asked others for tombstones after another one had evicted the incarnation as in
// unheard. Servers that ask learn of that tombstone, so most servers may have it.
func (n *network) passedOn(c *entry) bool {
	for s := range n.cfg.servers {
		if c.alone > 0 && max(n.groundTruth.nodes[s].touched, n.losses.cut.last[s]) >= c.alone {
			return true
		}
	}
	return false
}

// untold reports whether a server is excused for not knowing of an eviction that most servers know. If links lose
// messages, the server may have to ask for tombstones again, which it does once per tick.
func (t *groundTruth) untold(server sim.NodeID) bool {
	within := t.net.timing.Broadcast
	if t.loses(server) {
		within = t.net.spreadIn()
	}
	return t.Some() && t.divided() || t.nodes[server].links || t.now()-t.touched <= within
}

// divided reports whether a server cannot reach another one.
func (t *groundTruth) divided() bool {
	for a := range sim.NodeID(t.net.cfg.servers) {
		for b := range sim.NodeID(t.net.cfg.servers) {
			if t.Apart(a, b) {
				return true
			}
		}
	}
	return false
}

// loses reports whether messages between a server and others may be lost.
func (t *groundTruth) loses(server sim.NodeID) bool {
	for s := range sim.NodeID(t.net.cfg.servers) {
		if s != server && t.losesBetween(s, server) {
			return true
		}
	}
	return false
}

// losesBetween reports whether messages between two nodes may be lost.
func (t *groundTruth) losesBetween(a, b sim.NodeID) bool {
	some := func(q link.Quality) bool { return q.Loss > 0 }
	return t.anyLink(a, b, some) || t.anyLink(b, a, some)
}

// cutShort reports whether a master died, or was stopped, before it had told all servers of its eviction of an
// incarnation, or of a later one.
func (n *network) cutShort(c *entry, incarnation uint64) bool {
	return slices.ContainsFunc(c.open, func(o opened) bool {
		f := &n.groundTruth.nodes[o.by]
		return o.incarnation >= incarnation && (f.ended >= o.at || f.stopped)
	})
}

// mayWithdraw reports whether the master that evicts an incarnation may still withdraw the eviction: it has not ended
// it, or has just done so. It may wait long for a server that does not answer although discovery reports it as alive.
func (n *network) mayWithdraw(c *entry) bool {
	since, within := max(c.ends, c.kept, n.groundTruth.unsent), n.spreadIn()
	for _, o := range c.open {
		if since, within = max(since, n.groundTruth.touched), n.evictingIn(); n.unanswered(o.by) {
			return true
		}
	}
	return n.Now()-since <= within
}

// unanswered reports whether a server does not answer the broadcasts of another one.
func (n *network) unanswered(by sim.NodeID) bool {
	for s := range sim.NodeID(n.cfg.servers) {
		if !n.runs(s) || n.groundTruth.Apart(s, by) || n.groundTruth.Apart(by, s) {
			return true
		}
	}
	return false
}

// beside reports whether a server came to be out of the client's reach at most about T_evict ago, and some server
// died, stood still or began again after that, or so shortly before that discovery may not have noticed it. The
// client may have chosen the latter, or tried to, when the former evicts it.
func (n *network) beside(f *nodeHistory) bool {
	if f.apart.now == nil || n.Now()-f.grown > n.timing.Evict+2*n.timing.Tick {
		return false
	}
	for s := range n.cfg.servers {
		if at := n.groundTruth.nodes[s].touched; at > 0 && at >= f.grown-n.knownIn() {
			return true
		}
	}
	return false
}

// askedBefore reports whether a server came back, and asked the others for tombstones, just before they evicted an
// incarnation as an orphan. Servers do not inform each other of the evictions of orphans, so it may not know of it.
func (n *network) askedBefore(c *entry, server sim.NodeID, incarnation uint64) bool {
	back := max(n.losses.cut.last[server], n.groundTruth.nodes[server].touched)
	return c.orphan && c.incarnation == incarnation && back <= c.first && c.first <= back+n.timing.Orphan+n.knownIn()
}

// rests reports whether the client on a node waits because a later incarnation has superseded
// it.
func (n *network) rests(id sim.NodeID) bool {
	return n.groundTruth.nodes[id].superseded && n.client(id).Status().State == "resting"
}

// agreeIn is how long after the last fault all servers agree whether an incarnation of a client
// is connected or evicted (CH-33, goal G-CH-6).
func (n *network) agreeIn() time.Duration {
	return n.orNoticed(max(n.timing.Quorum, 0)) + n.timing.Orphan + 2*n.timing.Tick
}

// calm returns how long ago the last fault of a server or link was. The result is 0 while some
// server cannot reach another one that discovery reports as alive, or while a link between servers
// is poor.
func (n *network) calm() time.Duration {
	if n.groundTruth.Some() && n.groundTruth.heldUp() || n.groundTruth.poorAmong {
		return 0
	}
	return n.Now() - n.groundTruth.touched
}

// spreadIn is how long an eviction, or its withdrawal, takes to reach all servers.
func (n *network) spreadIn() time.Duration { return n.timing.Broadcast + 3*n.timing.Tick }

// evictingIn is how long a master that evicts a client waits for other servers.
func (n *network) evictingIn() time.Duration { return n.spreadIn() + 10*n.timing.Tick }

// endIn returns the times after which all servers must have forgotten a client: after the
// client's end, and after the last fault. talks means that other programs of the client's node
// go on sending.
func (n *network) endIn(talks bool) (after, afterFault time.Duration) {
	t := &n.timing
	after, afterFault = t.Evict, max(2*t.Evict, n.orNoticed(t.Evict)+t.Orphan)+3*t.Tick
	if talks {
		after = 2 * t.Evict
	}
	return after + n.spreadIn(), afterFault
}

// silent reports whether a client may have heard nothing of a server for T_orphan: it or the server stood
// still or had not begun, or their link was cut or poor, or clocks were wrong.
func (n *network) silent(id, server sim.NodeID) bool {
	t, since := &n.groundTruth, n.Now()-n.timing.Orphan-2*n.timing.Tick
	if t.losesBetween(id, server) { // the client waits for twice a ping interval at most until it repeats a message that was lost
		since -= 2 * n.timing.Ping
	}
	f := &t.nodes[id]
	return t.inTrouble(id) || f.trouble >= since || f.parted(server, since) || !n.runs(server) || t.nodes[server].touched >= since
}
