package softroce

import "ulnet/lnd/verbs/ibta"

// mostGranted is how many connections that were granted wait at a time for a sign that
// their peers know. Requests cost their sender one packet, which may name anybody as its
// source: for each one more the one that has waited longest is given up, so that they
// fill neither memory nor tables. Local policy; a peer that is there answers within a
// round trip.
const mostGranted = 1024

// grants are the latest connections that were granted, whatever has become of them.
type grants struct {
	list [mostGranted]ibta.CommID
	next int
}

// put notes a connection, and returns the one whose place it takes.
func (g *grants) put(id ibta.CommID) (oldest ibta.CommID) {
	g.list[g.next], oldest = id, g.list[g.next]
	g.next = (g.next + 1) % mostGranted
	return oldest
}

// makeRoom notes that a connection was granted, and gives up one that has waited too long.
func (c *cm) makeRoom(id ibta.CommID, out *cmOutput) {
	n := c.conns[c.recent.put(id)]
	if n == nil || n.state != repSent {
		return
	}
	c.counters.Crowded++
	out.event(cmEvent{Kind: cmUnreachable, ID: n.id}, nil)
	c.giveUp(n, out)
	c.forget(n)
}
