package softroce

import (
	"net/netip"

	"ulnet/lnd/verbs/ibta"
)

// How many connections that were granted wait at a time for a sign that their peers know,
// of all peers and of one. Requests cost their sender one packet, which may name anybody
// as its source: for each one more the one that has waited longest is given up, so that
// they fill neither memory nor tables, nor keep out whom they name. Local policy; a peer
// that is there answers within a round trip, and asks for 127 at once at most.
const (
	mostGranted     = 1024
	mostGrantedEach = 128
)

// grants are the latest connections that were granted, whatever has become of them.
type grants struct {
	list [mostGranted]ibta.CommID
	next int                // of list: the oldest
	open map[netip.Addr]int // how many wait, by peer
}

// put notes a connection, and returns the one whose place it takes.
func (g *grants) put(id ibta.CommID) (oldest ibta.CommID) {
	g.list[g.next], oldest = id, g.list[g.next]
	g.next = (g.next + 1) % mostGranted
	return oldest
}

// count adds to how many of a peer wait.
func (g *grants) count(peer netip.Addr, n int) {
	if g.open == nil {
		g.open = make(map[netip.Addr]int)
	}
	if g.open[peer] += n; g.open[peer] == 0 {
		delete(g.open, peer)
	}
}

// makeRoom notes that n was granted, and gives up what has waited too long.
func (c *cm) makeRoom(n *cmConn, out *cmOutput) {
	if old := c.conns[c.recent.put(n.id)]; old != nil && old.state == repSent {
		c.crowdOut(old, out)
	}
	if c.recent.open[n.peer] > mostGrantedEach {
		c.crowdOut(c.oldestOf(n.peer), out)
	}
}

// oldestOf returns which connection of a peer has waited longest. There is one.
func (c *cm) oldestOf(peer netip.Addr) *cmConn {
	g := &c.recent
	for i := g.next; ; i = (i + 1) % mostGranted {
		if n := c.conns[g.list[i]]; n != nil && n.state == repSent && n.peer == peer {
			return n
		}
	}
}

func (c *cm) crowdOut(n *cmConn, out *cmOutput) {
	c.counters.Crowded++
	out.event(cmEvent{Kind: cmUnreachable, ID: n.id}, nil)
	c.giveUp(n, out)
	c.forget(n)
}
