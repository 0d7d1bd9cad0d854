package healthsim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"ulnet/health"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
)

// changed returns when a server last evicted an incarnation, or connected it again.
func (c *entry) changed(incarnation uint64) (at time.Duration) {
	if c.ending >= incarnation {
		at = c.ends
	}
	if c.ending > incarnation {
		at = max(at, c.before)
	}
	if c.comes == incarnation {
		at = max(at, c.came)
	}
	return at
}

// begins records when servers begin to evict an incarnation. If master is true, a server begins that now, as the
// client's master. Otherwise a server has evicted the incarnation at a master's order, which was given earlier; then
// the present time is recorded only if the checker knows no earlier beginning.
func (c *entry) begins(incarnation uint64, master bool, now time.Duration) {
	switch {
	case incarnation > c.ending, incarnation == c.ending && master:
		c.ending, c.ends = incarnation, now
	case incarnation < c.ending && master:
		c.before = now
	}
}

// buriedBy returns the number of servers that run and have a tombstone of an incarnation.
func (n *network) buriedBy(id health.ClientID, incarnation uint64) (count int) {
	for _, w := range n.running(sim.AllNodes) {
		if last, ok := w.Buried(id); ok && last >= incarnation {
			count++
		}
	}
	return count
}

// fewBury reports whether no more than half of the servers have a tombstone of an incarnation.
func (n *network) fewBury(id sim.NodeID, incarnation uint64) bool {
	return 2*n.buriedBy(clientID(id), incarnation) <= n.cfg.servers
}

// uniform reports whether the servers agree about clients, which they must if the last fault of
// a server or link was long enough ago. No running server may have a connection of an
// incarnation that has ended, or of which any server has a tombstone (CH-33, CH-63, CH-64, goal
// G-CH-6). If the parameter most is set, a tombstone counts only if more than half of the servers
// have it.
func (n *network) uniform(most bool) (ok bool, why string) {
	if l := &n.ledger; l.revived > 0 {
		return false, l.firstRevived
	}
	calm := n.calm() // computed once here, because it is the same for all clients
	return kit.All(n.each(sim.AllNodes), func(id sim.NodeID) string { return cmp.Or(n.divided(id, calm, most), n.lingers(id, calm)) })
}

// divided describes a server that still has a connection of an incarnation of client id that runs, although another
// server has a tombstone of that incarnation (more than half of the servers, if most is set), or that has been
// evicting that incarnation for too long. It returns "" if there is none. A server that has just begun to evict does
// not count, because it waits for other servers. calm is how long ago the last fault was.
func (n *network) divided(id sim.NodeID, calm time.Duration, most bool) string {
	if calm <= n.agreeIn() {
		return ""
	}
	where, buried := n.buriedAt(clientID(id))
	nodes := n.claimants(id) // only incarnations that still run count here; the method lingers checks those that have ended
	for s, w := range n.running(sim.AllNodes) {
		info, known := w.Client(clientID(id))
		since := n.Now() - max(n.ledger.of(id).changed(info.Incarnation), n.groundTruth.unsent)
		switch {
		case !known, !n.incarnations(nodes, info.Incarnation), since <= n.spreadIn():
		case info.State == "evicting":
			if since > n.evictingIn() {
				return fmt.Sprintf("at %v server %v has been evicting client %v for %v", n.Now(), s, id, since.Round(time.Millisecond))
			}
		case info.Incarnation > buried:
		case most && n.fewBury(id, info.Incarnation):
		default:
			return fmt.Sprintf("at %v an incarnation of client %v is %s at server %v under %s, epoch %d, and server %v has its tombstone",
				n.Now(), id, info.State, s, word(info.Master), info.Epoch, where)
		}
	}
	return ""
}

// buriedAt returns the highest incarnation of a client of which a running server has a
// tombstone, and that server. The incarnation is 0 if there is none.
func (n *network) buriedAt(id health.ClientID) (where sim.NodeID, incarnation uint64) {
	for s, w := range n.running(sim.AllNodes) {
		if l, ok := w.Buried(id); ok && l > incarnation {
			where, incarnation = s, l
		}
	}
	return where, incarnation
}

// incarnations reports whether a client runs on one of the nodes in the given incarnation or an
// earlier one.
func (n *network) incarnations(nodes []sim.NodeID, incarnation uint64) bool {
	return slices.ContainsFunc(nodes, func(k sim.NodeID) bool { return n.client(k).Status().Incarnation <= incarnation })
}

// lingers describes a server that still has a connection of an incarnation that ended long ago, or returns ""
// if there is none. Messages that other programs of the client's node send may delay the end of the connection
// (see endIn), but must not prevent it. If the client runs, an earlier incarnation may have ended on the same node.
func (n *network) lingers(id sim.NodeID, calm time.Duration) string {
	f, c := &n.groundTruth.nodes[id], n.ledger.of(id)
	nodes, ended := n.claimants(id), f.ended
	if len(nodes) > 0 { // the client runs, so only earlier incarnations are checked
		ended = max(ended, c.began, c.ends)
	}
	after, afterFault := n.endIn(n.talked(f.endedOn) || slices.ContainsFunc(nodes, n.talked) || slices.Contains(n.impostors, f.endedOn))
	since := n.Now() - max(ended, n.groundTruth.unsent-n.timing.Evict)
	if ended == 0 || since <= after || calm <= afterFault {
		return ""
	}
	for s, w := range n.running(sim.AllNodes) {
		info, known := w.Client(clientID(id))
		switch {
		case !known, info.State == "evicting" && n.Now()-max(c.ends, c.before) <= n.evictingIn():
		case len(nodes) > 0 && info.Incarnation >= c.comes, n.incarnations(nodes, info.Incarnation): // the incarnation is running
		default:
			return fmt.Sprintf("at %v, %v after its end, client %v is %s at server %v", n.Now(), (n.Now() - ended).Round(time.Millisecond), id, info.State, s)
		}
	}
	return ""
}

// talked reports whether other programs of a node have sent messages.
func (n *network) talked(id sim.NodeID) bool { return n.groundTruth.nodes[id].talked }

// claimants returns the nodes on which a client runs with the id of a given node's client: that
// node itself, and others that use the id.
func (n *network) claimants(id sim.NodeID) (nodes []sim.NodeID) {
	if n.groundTruth.nodes[id].client == id && n.present(id) {
		nodes = append(nodes, id)
	}
	for _, k := range n.impostors {
		if k != id && n.groundTruth.nodes[k].client == id && n.present(k) {
			nodes = append(nodes, k)
		}
	}
	return nodes
}

// buriedAlive counts clients that still run in an incarnation that a majority of the servers has
// evicted without a cause.
func (n *network) buriedAlive() {
	for id := range n.each(sim.AllNodes) {
		c := n.ledger.of(id)
		if c.judged == 0 || c.just || n.mayWithdraw(c) || n.passedOn(c) {
			continue
		}
		for _, node := range n.claimants(id) {
			if st := n.client(node).Status(); n.runs(node) && st.Incarnation <= c.judged && !n.fewBury(id, st.Incarnation) {
				n.ledger.accuse("most servers have evicted client %v, without a cause", id)
				c.just = true // so that the same eviction is not counted again
			}
		}
	}
}
