package healthsim

import (
	"fmt"
	"time"

	"ulnet/health"
	"ulnet/health/wire"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
)

// What nodes tell: servers the kinds of health.Event, clients those of
// health.ClientEvent.
const (
	serverEvents = history.Own
	clientEvents = history.Own + 0x80
)

// Outcome is what nodes have told so far, compared with the groundTruth.
type Outcome struct {
	Evicted uint64 // times that a client was told that all had evicted it
	// False is how often a server evicted, or another client superseded, a client
	// without a cause (exempt.go), and that was told, or most servers had its tombstone.
	False      uint64
	FirstFalse string
	Superseded uint64 // clients that were told that they run elsewhere
	Changes    uint64 // masters lost
	Dropped    uint64 // connections lost while the client went on
	// Revived is how often a server took an incarnation whose tombstones most servers held,
	// although nothing kept them from telling it (exemptUntold).
	Revived      uint64
	FirstRevived string
	// Skew is the longest time between the first and the last server that evicted
	// a silent client, Latest the longest from its last message to the last server.
	Skew, Latest time.Duration
	// Rehomed is how long each client of a dead master took to find another one, from the death.
	Rehomed []time.Duration
}

// ledger is what was told, by client.
type ledger struct {
	net     *Net
	outcome Outcome
	clients []entry
}

// entry is what became of a client.
type entry struct {
	spoke       time.Duration // when it last sent something
	incarnation uint64        // the highest that was evicted by all
	first, last time.Duration // servers that evicted it
	evicted     int           // how often it was told so
	timed       bool          // it was silent

	judged uint64        // the highest incarnation whose eviction a server began
	just   bool          // it had a cause
	taken  bool          // the latest incarnation is of another node, and the earlier one gave cause
	ending uint64        // the highest incarnation that servers have begun to evict, for whatever cause
	ends   time.Duration // when
	comes  uint64        // the latest incarnation that was connected or changed its master
	came   time.Duration // when
	began  time.Duration // when it was first connected
	died   time.Duration // when its master died, while it has no other; 0: it has one
}

// changed is when servers last evicted an incarnation, or connected it anew.
func (c *entry) changed(incarnation uint64) (at time.Duration) {
	if c.ending >= incarnation {
		at = c.ends
	}
	if c.comes == incarnation {
		at = max(at, c.came)
	}
	return at
}

func (l *ledger) init(n *Net) {
	l.net, l.clients = n, make([]entry, n.cfg.Clients)
}

// Outcome returns what nodes have told, compared with the groundTruth.
func (n *Net) Outcome() Outcome { return n.ledger.outcome }

// of is the entry of a client, nil of a stranger.
func (l *ledger) of(id sim.NodeID) *entry {
	if k := int(id) - l.net.cfg.Servers; k >= 0 && k < len(l.clients) {
		return &l.clients[k]
	}
	return nil
}

// spoke notes that a client sends something.
func (l *ledger) spoke(id sim.NodeID) { l.of(id).spoke = l.net.Now() }

// forAll reports whether a cause of an eviction is one for all servers.
func forAll(c health.Cause) bool {
	return c == health.TimedOut || c == health.ByAdmin || c == health.LostMaster
}

// serverTold hears what the user of a server is told.
func (n *Net) serverTold(id sim.NodeID, e *health.Event) {
	if n.cfg.OnServer != nil {
		n.cfg.OnServer(n.Now(), id, e)
	}
	l := &n.ledger
	c := l.of(nodeOf(e.Client))
	if c == nil || !e.Client.IsValid() {
		return
	}
	if forAll(e.Cause) && (e.Kind == health.ClientSuspended || e.Kind == health.ClientEvicted) {
		l.judge(c, id, e)
	}
	if begins := e.Kind == health.ClientSuspended || e.Kind == health.ClientEvicted && (forAll(e.Cause) || e.Cause == health.Rebooted); begins && (c.ending < e.Incarnation || e.Kind == health.ClientSuspended) {
		c.ending, c.ends = e.Incarnation, n.Now()
	}
	switch e.Kind {
	case health.ClientEvicted:
		if forAll(e.Cause) {
			l.gone(c, e)
		}
	case health.ClientConnected, health.ClientRehomed:
		l.came(c, id, e)
	default:
	}
}

// judge notes whether a server has a cause to evict an incarnation for all.
func (l *ledger) judge(c *entry, server sim.NodeID, e *health.Event) {
	if e.Incarnation < c.judged {
		return
	}
	n := l.net
	if e.Incarnation > c.judged {
		c.judged, c.just = e.Incarnation, false
	}
	nodes := n.claimants(nodeOf(e.Client))
	c.just = c.just || len(nodes) == 0
	for _, k := range nodes {
		c.just = c.just || n.groundTruth.justly(k, server, e.Incarnation, e.Cause)
	}
}

// came notes that a server has connected an incarnation, or that it has another master there.
func (l *ledger) came(c *entry, server sim.NodeID, e *health.Event) {
	n := l.net
	if e.Incarnation > c.comes {
		c.taken, c.began = false, n.Now()
		for _, k := range n.claimants(nodeOf(e.Client)) {
			c.taken = c.taken || k != nodeOfNID(e.Peer.NID) && n.groundTruth.justly(k, server, 0, health.TimedOut)
		}
	}
	if e.Incarnation >= c.comes {
		c.comes, c.came = e.Incarnation, n.Now()
	}
	underWay := c.ending >= e.Incarnation && n.Now()-max(c.ends, n.groundTruth.unsent) <= n.spreadIn() // exemptSpread
	if e.Kind != health.ClientConnected || underWay || n.groundTruth.untold(server) != nil || 2*n.buriedBy(e.Client, e.Incarnation) <= n.cfg.Servers {
		return
	}
	if l.outcome.Revived++; l.outcome.FirstRevived == "" {
		l.outcome.FirstRevived = fmt.Sprintf("at %v server %v took an incarnation of client %v whose tombstone most servers have", n.Now(), server, nodeOf(e.Client))
	}
}

// byHand notes that somebody has the incarnation of a client evicted that servers know (exemptHand).
func (n *Net) byHand(id sim.NodeID) {
	if c := n.ledger.of(id); c != nil {
		n.groundTruth.nodes[id].ordered = c.comes
	}
}

// falsely notes that a client was evicted without a cause.
func (l *ledger) falsely(format string, args ...any) {
	if l.outcome.False++; l.outcome.FirstFalse == "" {
		l.outcome.FirstFalse = fmt.Sprintf("at %v "+format, append([]any{l.net.Now()}, args...)...)
	}
}

// gone notes that a server has evicted an incarnation for all.
func (l *ledger) gone(c *entry, e *health.Event) {
	now := l.net.Now()
	if e.Incarnation > c.incarnation {
		c.incarnation, c.first, c.timed = e.Incarnation, now, e.Cause == health.TimedOut
	}
	if e.Incarnation < c.incarnation {
		return
	}
	if c.last = now; c.timed && e.Cause == health.TimedOut {
		l.outcome.Skew = max(l.outcome.Skew, c.last-c.first)
		if !l.net.cfg.Stacks { // where nobody sees messages
			l.outcome.Latest = max(l.outcome.Latest, c.last-c.spoke)
		}
	}
}

// clientTold hears what the user of a client is told.
func (n *Net) clientTold(id sim.NodeID, e *health.ClientEvent) {
	if n.cfg.OnClient != nil {
		n.cfg.OnClient(n.Now(), id, e)
	}
	f, v := &n.groundTruth.nodes[id], &n.ledger.outcome
	if f.quit { // nobody reads it
		return
	}
	c := n.ledger.of(f.client)
	switch e.Kind {
	case health.Evicted:
		v.Evicted++
		n.ledger.of(id).evicted++
		if c.judged < e.Incarnation || !c.just {
			n.ledger.falsely("client %v was told by server %v that all have evicted it, without a cause", id, nodeOfNID(e.Server))
		}
	case health.Superseded:
		v.Superseded++
		f.superseded = true
		if !c.taken {
			n.ledger.falsely("client %v was told by server %v that it runs elsewhere, and had given no cause", id, nodeOfNID(e.Server))
		}
	case health.MasterLost:
		v.Changes++
		if master := nodeOfNID(e.Server); !n.Up(master) {
			n.ledger.of(id).died = n.groundTruth.nodes[master].touched
		}
	case health.MasterChosen:
		if own := n.ledger.of(id); own.died > 0 {
			v.Rehomed, own.died = append(v.Rehomed, n.Now()-own.died), 0
		}
	case health.Dropped:
		v.Dropped++
	default:
	}
}

// serverEvent and clientEvent are events for the digest of a simulation.
func serverEvent(e *health.Event) sim.Event {
	return sim.Event{Kind: uint16(serverEvents) + uint16(e.Kind), Subject: nodeOf(e.Client), Value: e.Incarnation ^ uint64(e.Cause)}
}

func clientEvent(e *health.ClientEvent) sim.Event {
	return sim.Event{Kind: uint16(clientEvents) + uint16(e.Kind), Subject: subjectOf(e.Server), Value: e.Incarnation ^ uint64(e.Code)}
}

func subjectOf(id nid.NID) sim.NodeID {
	if node, ok := simlnd.Node(id); ok && id.IsValid() {
		return node
	}
	return history.Nobody
}

// tap shows a message to who wants to see them.
func (n *Net) tap(from, to sim.NodeID, data []byte) {
	if n.cfg.Tap == nil {
		return
	}
	if m, err := wire.ParseMessage(data); err == nil {
		n.cfg.Tap(from, to, &m)
	}
}
