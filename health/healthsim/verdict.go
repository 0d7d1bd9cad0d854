package healthsim

import (
	"fmt"
	"time"

	"ulnet/health"
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

// Verdict is what nodes have told so far, compared with the truth.
type Verdict struct {
	Evicted    uint64 // times that a client was told that all had evicted it
	False      uint64 // of those without a cause: it ran, nothing separated it from any server, and no message was lost
	FirstFalse string
	Superseded uint64 // clients that were told that they run elsewhere
	Changes    uint64 // masters lost
	Dropped    uint64 // connections lost while the client went on
	// Revived is how often a server took a life whose tombstones most servers held,
	// although nothing kept them from telling it: it waits for T_bcast at most
	// (docs/client-health.md, States), and evicts the client when it hears of it.
	Revived      uint64
	FirstRevived string
	// Skew is the longest time between the first and the last server that evicted
	// a silent client, Latest the longest from its last message to the last server.
	Skew, Latest time.Duration
}

// ledger is what was told, by client.
type ledger struct {
	net     *Net
	verdict Verdict
	clients []entry
}

// entry is what became of a client.
type entry struct {
	spoke       time.Duration // when it last sent something
	life        uint64        // the highest that was evicted by all
	first, last time.Duration // servers that evicted it
	evicted     int           // how often it was told so
	timed       bool          // it was silent
}

func (l *ledger) init(n *Net) {
	l.net, l.clients = n, make([]entry, n.cfg.Clients)
}

// Verdict returns what nodes have told, compared with the truth.
func (n *Net) Verdict() Verdict { return n.ledger.verdict }

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
	switch {
	case e.Kind == health.ClientEvicted && forAll(e.Cause):
		l.gone(c, e)
	case e.Kind == health.ClientConnected && n.Now()-n.truth.touched > n.timing.Broadcast && !n.truth.unlucky && !n.truth.divided() && 2*n.buriedBy(e.Client, e.Incarnation) > n.cfg.Servers:
		if l.verdict.Revived++; l.verdict.FirstRevived == "" {
			l.verdict.FirstRevived = fmt.Sprintf("at %v server %v took a life of client %v whose tombstone most servers have", n.Now(), id, nodeOf(e.Client))
		}
	}
}

// gone notes that a server has evicted a life for all.
func (l *ledger) gone(c *entry, e *health.Event) {
	now := l.net.Now()
	if e.Incarnation > c.life {
		c.life, c.first, c.timed = e.Incarnation, now, e.Cause == health.TimedOut
	}
	if e.Incarnation < c.life {
		return
	}
	if c.last = now; c.timed && e.Cause == health.TimedOut {
		l.verdict.Skew = max(l.verdict.Skew, c.last-c.first)
		if !l.net.cfg.Stacks { // where nobody sees messages
			l.verdict.Latest = max(l.verdict.Latest, c.last-c.spoke)
		}
	}
}

// clientTold hears what the user of a client is told.
func (n *Net) clientTold(id sim.NodeID, e *health.ClientEvent) {
	if n.cfg.OnClient != nil {
		n.cfg.OnClient(n.Now(), id, e)
	}
	v := &n.ledger.verdict
	switch e.Kind {
	case health.Evicted:
		v.Evicted++
		n.ledger.of(id).evicted++
		if !n.truth.excused(id) {
			if v.False++; v.FirstFalse == "" {
				v.FirstFalse = fmt.Sprintf("at %v client %v was told by server %v that all have evicted it, without a cause", n.Now(), id, nodeOfNID(e.Server))
			}
		}
	case health.Superseded:
		v.Superseded++
	case health.MasterLost:
		v.Changes++
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
	if m, err := health.ParseMessage(data); err == nil {
		n.cfg.Tap(from, to, &m)
	}
}
