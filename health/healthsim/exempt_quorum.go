package healthsim

import (
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
)

// heldUp reports whether, for some pair of servers, the first cannot reach the second although
// gossip, through third servers, tells the first that the second is alive.
func (t *groundTruth) heldUp() bool {
	servers := sim.NodeID(t.net.cfg.servers)
	up := make([]bool, servers)
	for s := range servers {
		up[s] = t.net.runs(s)
	}
	for a := range servers {
		for b, heard := range kit.Hears(a, up, &t.Cuts) {
			if heard && b != int(a) && up[a] && (t.Apart(a, sim.NodeID(b)) || t.Apart(sim.NodeID(b), a)) {
				return true
			}
		}
	}
	return false
}

// knownIn is how long discovery takes to notice that a server has died, or is there again and speaks after the
// silence of its start.
func (n *network) knownIn() time.Duration {
	if n.cfg.gossip > 0 {
		return 60 * n.cfg.gossip
	}
	return n.cfg.discovery*5/4 + n.cfg.discovery + returnMost
}

// orNoticed returns the given time, or the time that discovery takes until it has noticed the end of a server and its
// return, if discovery needs more than the given time to notice the end.
func (n *network) orNoticed(t time.Duration) time.Duration {
	if max(n.cfg.discovery, 17*n.cfg.gossip) > t {
		return n.knownIn()
	}
	return t
}

// minority reports whether no more than half of all servers, the given one included, run and have a path to that
// server. If gossips is set, a path from a server counts only if both servers are linked: otherwise gossip may
// consider one of them dead although there is a path.
func (t *groundTruth) minority(server sim.NodeID, gossips bool) bool {
	up := make([]bool, t.net.cfg.servers)
	for s := range up {
		up[s] = t.net.runs(sim.NodeID(s))
	}
	return t.fewReach(server, up, gossips)
}

// fewReach is like minority. Only the servers in up count as running.
func (t *groundTruth) fewReach(server sim.NodeID, up []bool, gossips bool) bool {
	count := 0
	for s, heard := range kit.Hears(server, up, &t.Cuts) {
		id := sim.NodeID(s)
		if up[s] && (id == server || heard && (!gossips || t.linked(server, up) && t.linked(id, up))) {
			count++
		}
	}
	return 2*count <= t.net.cfg.servers
}

// linked reports whether a server exchanges messages in both directions with at least half of the running servers
// to or from which it has any path. If it does not, gossip on either side may consider the other side dead: the
// clocks of gossip drift apart, and a connection that is cut in one direction ends after some time.
func (t *groundTruth) linked(server sim.NodeID, up []bool) bool {
	both, all := 0, 0
	from := kit.Hears(server, up, &t.Cuts)
	for s := range up {
		id := sim.NodeID(s)
		if id == server || !up[s] {
			continue
		}
		if !t.Apart(id, server) && !t.Apart(server, id) {
			both++
		}
		if from[s] || kit.Hears(id, up, &t.Cuts)[server] {
			all++
		}
	}
	return 2*both >= all
}

// cutOff reports whether a server may have lost its quorum: no path leads to it from most servers, or some
// time ago none did, or one of the servers has a wrong clock.
func (n *network) cutOff(server sim.NodeID) bool {
	t, since := &n.groundTruth, n.Now()-n.knownIn()
	if n.losses.loose.now[server] || n.losses.loose.last[server] >= since || t.poorAmong {
		return true
	}
	up := make([]bool, n.cfg.servers)
	for s := range up {
		f := &t.nodes[s]
		if f.skewed || f.slow {
			return true
		}
		up[s] = n.runs(sim.NodeID(s)) && (f.booted == 0 || f.booted < since)
	}
	// A server that was restarted is silent at first, and counts as dead in that time if discovery is slow.
	return n.orNoticed(max(n.timing.Quorum, 0)) > n.timing.Quorum && t.fewReach(server, up, !n.oracle.on())
}
