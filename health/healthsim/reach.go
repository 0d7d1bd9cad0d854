package healthsim

import (
	"time"

	"ulnet/lnd/sim"
)

// contact records which servers a client reaches. A client that is cut off from some servers only must not be
// evicted: it chooses another master. So a cut excuses an eviction only if the client is left with too few servers
// to choose from.
type contact struct {
	cut    bool          // a server is out of reach of the client, or the client out of reach of a server
	cutAt  time.Duration // when that began, or when the fault just before it began
	healed time.Duration // when cut last ended; 0: never
	grown  time.Duration // when the latest server came to be out of reach, or far ended
	far    bool          // the client is cut off, and has too few servers to choose from, or one that cannot tell the others
	farAt  time.Duration // when that began, or when the fault just before it began
	apart  loneliness    // which servers are out of reach
}

// reach finds out which servers clients reach, after a change of the network or of servers.
func (t *groundTruth) reach() {
	if !t.Some() && !t.cutsOff {
		return
	}
	t.cutsOff = t.Some()
	takes := t.takes()
	for id := range t.net.each(sim.AllNodes) {
		f := &t.nodes[id]
		if f.apart.now == nil {
			f.apart.init(t.net.cfg.servers)
		}
		f.apart.changed(t.now(), func(s sim.NodeID) bool { return t.Apart(id, s) || t.Apart(s, id) })
		t.reaches(f, takes)
	}
}

// takes returns which servers a client can choose as its master: those that run and have a quorum, do not drain, and
// can write to their disks.
func (t *groundTruth) takes() []bool {
	takes := make([]bool, t.net.cfg.servers)
	for s := range takes {
		takes[s] = t.net.runs(sim.NodeID(s)) && !t.net.losses.loose.now[s] && !t.nodes[s].drains && !t.net.disks[s].broken
	}
	return takes
}

// reaches records what follows for a client from the servers that are out of its reach now.
func (t *groundTruth) reaches(f *nodeHistory, takes []bool) {
	now, was, since := t.now(), f.contact, t.cutSince(f)
	left := f.left(takes, now)
	f.far = f.cut && (2*left <= len(takes) || t.unnamed(f))
	switch {
	case was.cut && !f.cut:
		f.cutAt, f.healed = since, now
	case f.cut && !was.cut:
		f.cutAt = t.cutFrom(f)
		since = f.cutAt
	}
	switch {
	case f.far && !was.far:
		if f.farAt = since; f.stopped {
			f.farAt = min(since, f.paused)
		}
	case was.far && !f.far:
		if f.grown = now; now-was.farAt >= t.tolerableCut() {
			f.trouble = now
		}
	}
}

// unnamed reports whether a server that a client reaches does not exchange messages with one that it does not reach,
// and that has a quorum. The former cannot tell the latter that it is the client's master now.
func (t *groundTruth) unnamed(f *nodeHistory) bool {
	for i, apart := range f.apart.now {
		old := sim.NodeID(i)
		if !apart || !t.net.runs(old) || t.net.losses.loose.now[i] {
			continue
		}
		for k, other := range f.apart.now {
			if id := sim.NodeID(k); !other && t.net.runs(id) && (t.Apart(old, id) || t.Apart(id, old)) {
				return true
			}
		}
	}
	return false
}

// left returns how many of the servers that a client can choose are within its reach. It records in cut whether any
// server is out of its reach, and in grown when the latest one came to be.
func (c *contact) left(takes []bool, now time.Duration) (count int) {
	c.cut = false
	for s, apart := range c.apart.now {
		switch {
		case apart:
			if c.cut = true; c.apart.last[s] != now {
				c.grown = now
			}
		case takes[s]:
			count++
		}
	}
	return count
}

// parted reports whether a server was out of the client's reach at the given time or later.
func (c *contact) parted(server sim.NodeID, since time.Duration) bool {
	return c.apart.now != nil && (c.apart.now[server] || c.apart.last[server] >= since)
}

// cutSince returns from which time on the present cut of a client counts if another fault begins now. A client that
// has been cut off from some servers only for T_client + T_elect has found a master among the others.
func (t *groundTruth) cutSince(f *nodeHistory) time.Duration {
	if !f.far && t.now()-f.grown >= t.net.timing.Client+t.net.timing.Elect {
		return t.now()
	}
	return f.cutAt
}

// cutFrom returns from which time on a cut counts that begins now.
func (t *groundTruth) cutFrom(f *nodeHistory) time.Duration {
	if f.stopped {
		return f.paused
	}
	from := t.now()
	if f.healed > 0 {
		from = t.begin(f.cutAt, f.healed)
	}
	if f.stood > 0 {
		from = min(from, t.begin(f.resumed-f.stood, f.resumed))
	}
	return from
}

// begin returns from which time on a fault counts that begins now; the parameters are the beginning and the end of
// an earlier fault of the same client. The two count as one fault if a ping may not get through between them: a ping
// without an answer is repeated after (T_client - T_ping)/2. After a longer time in between, the client may still be
// about to choose another master, so the lengths of the two faults are added. After two ping intervals the new fault
// counts alone.
func (t *groundTruth) begin(began, ended time.Duration) time.Duration {
	timing, now := &t.net.timing, t.now()
	switch between := now - ended; {
	case between < (timing.Client-timing.Ping)/2+timing.RTT:
		return began
	case between < 2*timing.Ping:
		return began + between
	}
	return now
}
