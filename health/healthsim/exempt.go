package healthsim

import (
	"time"

	"ulnet/health"
	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// exemption is a reason why the checker accepts something, with the sentence of the documentation
// that allows it. There are no others.
type exemption struct{ file, sentence string }

// The exemptions: causes for which an eviction is not false.
var (
	exemptPause = &exemption{"scenarios.md", "or stood still for no longer than T_evict less a ping interval and a fifth of one"}
	exemptApart = &exemption{"scenarios.md", "although nothing kept it from any server"}
	exemptLinks = &exemption{"scenarios.md", "no link lost messages or held them for longer than a tenth of a ping interval"}
	exemptClock = &exemption{"scenarios.md", "its clock and those of servers were not wrong by more than a tenth, and no step of theirs took longer by more than a hundredth of a ping interval"}
	exemptHand  = &exemption{"scenarios.md", "that incarnation was not evicted by hand"}

	exemptUntold = &exemption{"scenarios.md", "unless links lost messages or were cut at that moment, or something was done to a server or a link less than T_bcast before"}
	exemptHealed = &exemption{"client-health.md", "T_q + T_orphan after a partition is healed each client is connected, or evicted everywhere"}
	exemptSpread = &exemption{"client-health.md", "an eviction is sent again until every live server has answered"}
	exemptHeldUp = &exemption{"client-health.md", "a server that discovery holds for alive does not answer broadcasts; its evictions wait"}
	exemptAlone  = &exemption{"client-health.md", "As long as no more than half of the servers have such a tombstone the client lives on where it is connected"}
	exemptRests  = &exemption{"client-health.md", "rests for 5 to 15 min if it is connected somewhere"}

	exemptions = []*exemption{exemptPause, exemptApart, exemptLinks, exemptClock, exemptHand, exemptUntold, exemptHealed, exemptSpread, exemptHeldUp, exemptAlone, exemptRests}
)

// tolerable is the longest pause of a client that must not lead to its eviction.
func (t *groundTruth) tolerable() time.Duration {
	return t.net.timing.Evict - t.net.timing.Ping - t.net.timing.Ping/5
}

// poor reports whether a link loses or delays messages so much that evictions are allowed.
func (t *groundTruth) poor(q link.Quality) bool {
	late := q.Latency.Max()
	if q.Reorder > 0 {
		late += max(q.Hold.Max(), link.DefaultHold)
	}
	return q.Loss > 0 || late > t.net.timing.Ping/10
}

// poorBetween reports whether the path between two nodes is poor in either direction.
func (t *groundTruth) poorBetween(a, b sim.NodeID) bool {
	for _, q := range t.links {
		there, back := q, q
		for _, r := range t.rules {
			if r.From.Has(a) && r.To.Has(b) {
				there = r.change.Apply(there)
			}
			if r.From.Has(b) && r.To.Has(a) {
				back = r.change.Apply(back)
			}
		}
		if t.poor(there) || t.poor(back) {
			return true
		}
	}
	return false
}

// judgeLinks finds the nodes with poor links after a change.
func (t *groundTruth) judgeLinks() {
	servers := sim.NodeID(t.net.cfg.Servers)
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

// inTrouble returns the reason for which servers may evict the client on a node now, nil if there
// is none.
func (t *groundTruth) inTrouble(id sim.NodeID) *exemption {
	f := &t.nodes[id]
	switch {
	case f.stopped && t.now()-f.paused >= t.tolerable():
		return exemptPause
	case f.links:
		return exemptLinks
	case f.skewed, f.slow:
		return exemptClock
	}
	for s := range sim.NodeID(t.net.cfg.Servers) {
		switch {
		case t.Some() && (t.Apart(id, s) || t.Apart(s, id)):
			return exemptApart
		case t.nodes[s].skewed, t.nodes[s].slow:
			return exemptClock
		}
	}
	return nil
}

// ending is called before something that may end the trouble of clients. It records that the
// trouble has lasted until now.
func (t *groundTruth) ending() {
	for k := range t.net.cfg.Clients {
		if id := t.net.firstClient() + sim.NodeID(k); t.inTrouble(id) != nil {
			t.nodes[id].trouble = t.now()
		}
	}
}

// justly reports whether a server may evict an incarnation of the client on a node for a cause.
// Trouble counts within a window, which grows by the time in which the server itself stood still.
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
	return t.inTrouble(id) != nil || t.now()-window <= t.nodes[id].trouble
}

// untold returns the reason why a server may not know an eviction that most servers know.
func (t *groundTruth) untold(server sim.NodeID) *exemption {
	if t.Some() || t.nodes[server].links || t.now()-t.touched <= t.net.timing.Broadcast {
		return exemptUntold
	}
	return nil
}

// rests reports whether the client on a node rests because it was superseded (exemptRests).
func (n *Net) rests(id sim.NodeID) bool {
	return n.groundTruth.nodes[id].superseded && n.client(id).Status().State == "resting"
}

// agreeIn is how long after the last fault all servers agree whether an incarnation of a client
// is connected or evicted (exemptHealed; CH-33, G-CH-6).
func (n *Net) agreeIn() time.Duration {
	return max(n.timing.Quorum, 0) + n.timing.Orphan + 2*n.timing.Tick
}

// calm returns for how long no fault was made at servers and links. It is 0 while some server
// cannot reach another one that discovery reports as alive (exemptHeldUp), or loses messages to
// it (exemptUntold).
func (n *Net) calm() time.Duration {
	if n.groundTruth.Some() && n.groundTruth.heldUp() || n.groundTruth.poorAmong {
		return 0
	}
	return n.Now() - n.groundTruth.touched
}

// heldUp reports whether a server cannot reach another one that it hears of through others.
func (t *groundTruth) heldUp() bool {
	servers := sim.NodeID(t.net.cfg.Servers)
	up := make([]bool, servers)
	for s := range servers {
		up[s] = t.net.runs(s)
	}
	for a := range servers {
		for b, heard := range t.hears(a, up) {
			if heard && b != int(a) && up[a] && (t.Apart(a, sim.NodeID(b)) || t.Apart(sim.NodeID(b), a)) {
				return true
			}
		}
	}
	return false
}

// hears returns which of the servers in speaks an observer hears of, directly or through others.
func (t *groundTruth) hears(observer sim.NodeID, speaks []bool) []bool {
	if !t.Some() {
		return speaks
	}
	heard := make([]bool, len(speaks))
	for ways := []sim.NodeID{observer}; len(ways) > 0; ways = ways[1:] {
		for k := range heard {
			if id := sim.NodeID(k); !heard[k] && speaks[k] && !t.Apart(id, ways[0]) {
				heard[k] = true
				ways = append(ways, id)
			}
		}
	}
	return heard
}

// spreadIn is how long an eviction, or its withdrawal, takes to reach all servers (exemptSpread).
func (n *Net) spreadIn() time.Duration { return n.timing.Broadcast + 3*n.timing.Tick }

// evictingIn is how long an evicting master waits for other servers (exemptSpread).
func (n *Net) evictingIn() time.Duration { return n.spreadIn() + 10*n.timing.Tick }

// endIn returns how long after its end a client is unknown to all servers, and how long after the
// last fault. talks means that other programs of its node go on sending.
func (n *Net) endIn(talks bool) (after, afterFault time.Duration) {
	t := &n.timing
	after, afterFault = t.Evict, max(2*t.Evict, t.Evict+t.Orphan)+3*t.Tick
	if talks {
		after = 2 * t.Evict
	}
	return after + n.spreadIn(), afterFault
}
