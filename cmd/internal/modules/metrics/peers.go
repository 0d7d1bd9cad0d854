package metrics

import (
	"maps"
	"slices"

	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// other is the value of the label nid for all peers that have no label of their own.
const other = "other"

// peerSet decides which peers have a label of their own, and sums up the others. The number of
// labels is bounded, so that neither a scrape nor the database of Prometheus grows with the nodes
// that connect. A peer keeps its label until the node forgets it; at the next scrape another peer
// may get one.
//
// The counters of the others are those of the whole node, minus what was counted for peers while
// they had labels. So they do not decrease when peers come and go, which Prometheus would take
// for a restart.
type peerSet struct {
	limit int
	own   map[nid.NID]*peer // peers with labels; at most limit
	order []nid.NID         // NIDs of the peers with labels, in order
	rest  peer              // sum of all peers without a label
	count int               // number of peers with labels, plus the number of table entries of the other peers
	more  bool              // there has been a peer without a label
	left  peerCounts        // counts of peers that have lost their labels, from the time when they had them
}

func newPeerSet(limit int) *peerSet {
	return &peerSet{limit: limit, own: map[nid.NID]*peer{}, rest: peer{label: other}}
}

// peer is the state of a NID, the sum of its entries for each NI of this node. The counters include those of entries
// that are gone, as after an NI of this node was removed, so that they do not decrease while the peer has its label.
type peer struct {
	peerCounts
	peerGauges
	label   string     // the NID as text
	entries []entry    // counts of the node's entries, and a further entry with the failures, which are counted for the NID
	gone    peerCounts // counts of entries that are gone
	base    peerCounts // counts from before the peer got its label; peerSet.rest keeps them
	before  peerCounts // counts at the previous scrape
	seen    bool       // the present scrape has found the peer
	fresh   bool       // the present scrape has given it the label
}

// entry has the counts of a NID for one NI of this node.
type entry struct {
	via         nid.NID    // NID of this node's NI; zero: the entry with the failures
	now, before peerCounts // counts at the present scrape and at the previous one
}

// peerGauges are the values of a peer that can rise and fall.
type peerGauges struct {
	up                              bool // an NI of this node is connected to the peer
	health                          int  // 0 to maxHealth
	credits, creditsMin, creditsMax int  // sums over the NIs of this node
	queued, queuedBytes             int  // number of messages that wait, and bytes of the messages that have a credit
}

// counting has those methods of an lnet.Node that the method read of a peerSet uses.
type counting interface {
	EachPeer(f func(*lnet.PeerSnapshot))
	Traffic() lnet.Traffic
	Stats() lnet.Stats
}

// read takes the state of all peers of a node, and then the counters of the node.
func (s *peerSet) read(n counting) {
	for _, p := range s.own { // any order: peers are independent
		p.begin()
	}
	s.rest.peerGauges, s.count = peerGauges{}, 0
	others := s.more
	n.EachPeer(func(from *lnet.PeerSnapshot) {
		p := s.of(from.NID)
		p.measure(from)
		if p != &s.rest {
			p.count(from)
		}
	})
	s.count += len(s.own)
	for id, p := range s.own { // any order: peers are independent
		p.sum()
		if p.fresh && others { // the peer has just got its label: s.rest includes what was counted for it so far
			p.base = p.peerCounts
		}
		s.settle(id, p)
	}
	s.order = slices.SortedFunc(maps.Keys(s.own), nid.NID.Compare)
	traffic, stats := n.Traffic(), n.Stats()
	s.sumUp(countsOf(&traffic, &stats.FailureStats))
}

// of returns the entry to which the values of a NID are added: the NID's own entry, which has a label, or s.rest
// if the NID has no entry and s.limit others have one already.
func (s *peerSet) of(id nid.NID) *peer {
	p := s.own[id]
	switch {
	case p != nil:
	case len(s.own) < s.limit:
		p = &peer{label: id.String(), fresh: true}
		s.own[id] = p
	default:
		s.count++
		s.more = true
		return &s.rest
	}
	p.seen = true
	return p
}

// settle handles a peer that the node has forgotten since the previous scrape. It adds what was counted under
// the peer's label to s.left.
func (s *peerSet) settle(id nid.NID, p *peer) {
	if p.seen {
		return
	}
	s.left.add(&p.before)
	s.left.subtract(&p.base)
	delete(s.own, id)
}

// sumUp computes the counters of s.rest, the peers without a label, from total, the counters of the whole
// node.
func (s *peerSet) sumUp(total peerCounts) {
	total.subtract(&s.left)
	for _, p := range s.own { // any order: the result is a sum
		total.subtract(&p.peerCounts)
		total.add(&p.base)
	}
	to, now := s.rest.fields(), total.fields()
	for i := range to {
		// The node's counters may still lack a message that is already counted for a peer. Then the difference is
		// too small for a moment, but a counter of Prometheus must not decrease.
		*to[i] = uint64(max(int64(*to[i]), int64(*now[i])))
	}
}

// measure adds the gauges of one entry of the node's table of peers, which has an entry for each NI of this
// node by which it reaches the peer.
func (p *peer) measure(from *lnet.PeerSnapshot) {
	p.up = p.up || from.State == lnet.PeerStateUp.String()
	p.health = from.Health
	p.credits += from.Credits
	p.creditsMin += from.MinCredits
	p.creditsMax += from.MaxCredits
	p.queued += from.Queued + from.Parked
	p.queuedBytes += from.QueuedBytes
}

// begin prepares a peer for the next scrape.
func (p *peer) begin() {
	for i := range p.entries {
		e := &p.entries[i]
		e.before, e.now = e.now, peerCounts{}
	}
	*p = peer{label: p.label, entries: p.entries, gone: p.gone, base: p.base, before: p.peerCounts}
}

// count adds the counters of one entry of the node's table of peers.
func (p *peer) count(from *lnet.PeerSnapshot) {
	c := countsOf(&from.Traffic, &from.Failures)
	failures := c.failures
	c.failures = 0
	p.of(from.Via).add(&c)
	all := p.of(nid.NID{})
	all.failures = max(all.failures, failures) // not a sum: each entry has the number of the NID
}

// of returns the counts of the entry for an NI of this node.
func (p *peer) of(via nid.NID) *peerCounts {
	for i := range p.entries {
		if p.entries[i].via == via {
			return &p.entries[i].now
		}
	}
	p.entries = append(p.entries, entry{via: via})
	return &p.entries[len(p.entries)-1].now
}

// sum computes the counters once all entries are counted. An entry whose counters are lower than before is gone, or was gone
// and is back.
func (p *peer) sum() {
	for i := range p.entries {
		if e := &p.entries[i]; e.now.isBelow(&e.before) {
			p.gone.add(&e.before)
		}
	}
	p.entries = slices.DeleteFunc(p.entries, func(e entry) bool { return e.now == peerCounts{} })
	p.peerCounts = p.gone
	for i := range p.entries {
		p.peerCounts.add(&p.entries[i].now)
	}
}

// peerCounts are counters of a peer or of the node.
type peerCounts struct {
	sent, received, dropped                uint64 // numbers of messages
	sentBytes, receivedBytes, droppedBytes uint64 // bytes of payload in these messages
	failures                               uint64 // failures of the classes that blame the peer
}

func countsOf(t *lnet.Traffic, f *lnet.FailureStats) peerCounts {
	return peerCounts{
		t.Sent.Total(), t.Received.Total(), t.Dropped.Total(), t.SendLength, t.RecvLength, t.DropLength,
		f.RemoteDropped + f.RemoteError + f.RemoteTimeout + f.NetworkTimeout,
	}
}

// fields returns pointers to all counters.
func (c *peerCounts) fields() [7]*uint64 {
	return [...]*uint64{&c.sent, &c.received, &c.dropped, &c.sentBytes, &c.receivedBytes, &c.droppedBytes, &c.failures}
}

func (c *peerCounts) add(d *peerCounts) {
	to, from := c.fields(), d.fields()
	for i := range to {
		*to[i] += *from[i]
	}
}

func (c *peerCounts) subtract(d *peerCounts) {
	to, from := c.fields(), d.fields()
	for i := range to {
		*to[i] -= *from[i]
	}
}

// isBelow reports whether some counter is lower than that of d.
func (c *peerCounts) isBelow(d *peerCounts) bool {
	now, then := c.fields(), d.fields()
	for i := range now {
		if *now[i] < *then[i] {
			return true
		}
	}
	return false
}
