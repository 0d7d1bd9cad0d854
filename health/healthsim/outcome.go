package healthsim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"ulnet/health"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
)

// In the digest of a simulation, events have numbers: an event of a server is serverEvents plus
// its kind in health.Event, one of a client is clientEvents plus its kind in health.ClientEvent.
const (
	serverEvents = history.Own
	clientEvents = history.Own + 0x80
)

// outcome counts how the events of all nodes so far compare with the ground truth.
type outcome struct {
	evicted uint64 // how often a client was told that all servers had evicted it
	// falsely is how often an incarnation of a client ended without a cause that exempt.go accepts:
	// the client was told that it was evicted or superseded, or most servers had its tombstone.
	falsely      uint64
	firstFalse   string // describes the first of the ends that falsely counts
	superseded   uint64 // clients that were told of a later incarnation elsewhere
	changes      uint64 // how often a client lost its master
	dropped      uint64 // how often a client lost a connection and went on
	revived      uint64 // how often a server connected an incarnation of which most servers had a tombstone, without an excuse by groundTruth.untold
	firstRevived string // describes the first of the incarnations that revived counts
	// skew is the longest time between the first and the last server that evicted a silent client.
	// latest is the longest time from such a client's last message to its eviction by the last
	// server.
	skew, latest time.Duration
	// rehomed has, for each client of a dead master, the time from the master's death until the
	// client had another master.
	rehomed []time.Duration
}

// ledger sums up the events of all nodes, by client.
type ledger struct {
	net *network
	outcome
	clients []entry
}

// entry sums up what the servers, and the client itself, have reported about a client.
type entry struct {
	spoke       time.Duration // time at which the client last sent a message
	incarnation uint64        // the highest incarnation that was evicted from all servers
	first       time.Duration // when the first server evicted that incarnation
	evicted     int           // how often the client on this node was told that all servers had evicted it
	timed       bool          // the reason of that eviction was the client's silence
	orphan      bool          // servers evicted that incarnation each by itself, as an orphan

	judged uint64        // the highest incarnation that a server suspended or evicted for a cause that counts for all servers
	just   bool          // the eviction of the incarnation in judged had a cause that exempt.go accepts
	by     []sim.NodeID  // servers that suspended or evicted the incarnation in judged, and have not connected it again, kept it or given the eviction up
	alone  time.Duration // when a server evicted the incarnation in judged as an orphan because the client was out of its reach alone, see unheard; 0: none did
	taken  bool          // a node other than that of the client's latest incarnation also runs a client with this id, and there was a cause to evict it there
	ending uint64        // the highest incarnation that servers have begun to evict, for any cause
	ends   time.Duration // when servers began to evict the incarnation in ending
	before time.Duration // when servers last began to evict an incarnation earlier than the one in ending
	comes  uint64        // the latest incarnation that was connected or changed its master
	came   time.Duration // time at which the incarnation in comes was connected, or changed its master
	began  time.Duration // time at which the incarnation in comes was first connected
	open   []opened      // evictions by masters that have not ended
	kept   time.Duration // when a server last kept the client that it was evicting
	died   time.Duration // when the client's last master died, if the client has no master now; 0: it has one
}

// opened is an eviction that a server has begun as the client's master.
type opened struct {
	by          sim.NodeID
	incarnation uint64
	at          time.Duration // when it was begun
}

func (l *ledger) init(n *network) {
	l.net, l.clients = n, make([]entry, n.cfg.clients)
}

// of returns the entry of a client; nil if the node is no client.
func (l *ledger) of(id sim.NodeID) *entry {
	if k := int(id) - l.net.cfg.servers; k >= 0 && k < len(l.clients) {
		return &l.clients[k]
	}
	return nil
}

// forAll reports whether an eviction for the given cause is an eviction from all servers.
func forAll(c health.Cause) bool {
	return c == health.TimedOut || c == health.ByAdmin || c == health.LostMaster
}

// serverTold records an event of a server.
func (n *network) serverTold(id sim.NodeID, e *health.Event) {
	l := &n.ledger
	c := l.of(nodeOf(e.Client))
	if c == nil || !e.Client.IsValid() {
		return
	}
	n.losses.told(id, e)
	if e.Kind == health.ClientEvicted && e.Cause == health.LostQuorum { // the server has given up all its evictions
		c.by = slices.DeleteFunc(c.by, func(k sim.NodeID) bool { return k == id })
	}
	if forAll(e.Cause) && (e.Kind == health.ClientSuspended || e.Kind == health.ClientEvicted) {
		l.judge(c, id, e)
	}
	c.opens(id, e, n.Now())
	if e.Kind == health.ClientSuspended || e.Kind == health.ClientEvicted && (forAll(e.Cause) || e.Cause == health.Rebooted) {
		c.begins(e.Incarnation, e.Kind == health.ClientSuspended, n.Now())
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

// opens records the evictions that servers have begun as masters. An eviction is over when its server has told
// all others, or keeps the client.
func (c *entry) opens(id sim.NodeID, e *health.Event, now time.Duration) {
	before := len(c.open)
	c.open = slices.DeleteFunc(c.open, func(o opened) bool {
		return o.by == id && o.incarnation <= e.Incarnation && e.Kind != health.ClientConnected
	})
	if len(c.open) < before && e.Kind == health.ClientRehomed {
		c.kept = now
	}
	if e.Kind == health.ClientSuspended {
		c.open = append(c.open, opened{id, e.Incarnation, now})
	}
}

// judge records whether a server has a cause to evict an incarnation from all servers. An eviction that the server
// begins as the client's master needs a cause of its own. One that it makes otherwise, or because most servers have the
// tombstone, may follow from that of another server, as long as that stands.
func (l *ledger) judge(c *entry, server sim.NodeID, e *health.Event) {
	if e.Incarnation < c.judged {
		return
	}
	n := l.net
	if e.Incarnation > c.judged {
		c.judged, c.just, c.by, c.alone = e.Incarnation, false, nil, 0
	}
	c.by = slices.DeleteFunc(c.by, func(k sim.NodeID) bool { return k != server && !n.stands(k, e) })
	switch {
	case n.hasCause(server, e):
		c.just = true
	case n.unheard(server, e):
		c.alone = cmp.Or(c.alone, n.Now())
		return
	case e.Kind == health.ClientSuspended && e.Cause != health.LostMaster || len(c.by) == 0:
		c.just = false
	}
	if !slices.Contains(c.by, server) {
		c.by = append(c.by, server)
	}
}

// hasCause reports whether a server has a cause to evict a client.
func (n *network) hasCause(server sim.NodeID, e *health.Event) bool {
	nodes := n.claimants(nodeOf(e.Client))
	return len(nodes) == 0 || slices.ContainsFunc(nodes, func(k sim.NodeID) bool {
		return n.groundTruth.justly(k, server, e.Incarnation, e.Cause)
	})
}

// stands reports whether a server still evicts an incarnation, or has its tombstone, perhaps on its disk only.
func (n *network) stands(server sim.NodeID, e *health.Event) bool {
	if !n.Up(server) {
		return n.disks[server].buries(e.Client, e.Incarnation)
	}
	w := n.servers[server]
	info, known := w.Client(e.Client)
	last, buried := w.Buried(e.Client)
	return known && info.State == "evicting" && info.Incarnation == e.Incarnation || buried && last >= e.Incarnation
}

// came is called when a server has connected an incarnation, or knows another master of it. It counts
// an error (revived) if the server has connected an incarnation whose tombstone most servers have,
// without an excuse. That the evicting master ended before it had told all servers, or that the server came back just
// before they evicted an orphan, excuses only a server that has not made the eviction itself.
func (l *ledger) came(c *entry, server sim.NodeID, e *health.Event) {
	n := l.net
	k := slices.Index(c.by, server)
	made := k >= 0 && e.Incarnation == c.judged
	if made {
		c.by = slices.Delete(c.by, k, k+1)
	}
	if e.Incarnation > c.comes {
		c.taken, c.began = false, n.Now()
		for _, k := range n.claimants(nodeOf(e.Client)) {
			c.taken = c.taken || k != nodeOfNID(e.Peer.NID) && n.groundTruth.justly(k, server, 0, health.TimedOut)
		}
	}
	if e.Incarnation >= c.comes {
		c.comes, c.came = e.Incarnation, n.Now()
	}
	underWay := c.ending >= e.Incarnation && n.Now()-max(c.ends, n.groundTruth.unsent) <= n.spreadIn() // the eviction may not have reached all servers yet, see spreadIn
	if e.Kind != health.ClientConnected || underWay || n.groundTruth.untold(server) || !made && (n.cutShort(c, e.Incarnation) || n.askedBefore(c, server, e.Incarnation)) || n.fewBury(nodeOf(e.Client), e.Incarnation) {
		return
	}
	if l.revived++; l.firstRevived == "" {
		l.firstRevived = fmt.Sprintf("at %v server %v took an incarnation of client %v whose tombstone most servers have", n.Now(), server, nodeOf(e.Client))
	}
}

// byHand records that an administrator orders the eviction of the client's connected
// incarnation.
func (n *network) byHand(id sim.NodeID) {
	if c := n.ledger.of(id); c != nil {
		n.groundTruth.nodes[id].ordered = c.comes
	}
}

// accuse counts an eviction without a cause.
func (l *ledger) accuse(format string, args ...any) {
	if l.falsely++; l.firstFalse == "" {
		l.firstFalse = fmt.Sprintf("at %v "+format, append([]any{l.net.Now()}, args...)...)
	}
}

// gone is called when a server has evicted an incarnation for a cause that counts for all servers.
func (l *ledger) gone(c *entry, e *health.Event) {
	now := l.net.Now()
	if e.Incarnation > c.incarnation {
		c.incarnation, c.first, c.timed, c.orphan = e.Incarnation, now, e.Cause == health.TimedOut, true
	}
	if e.Incarnation == c.incarnation {
		c.orphan = c.orphan && e.Cause == health.LostMaster
	}
	if e.Incarnation < c.incarnation {
		return
	}
	if c.timed && e.Cause == health.TimedOut {
		l.skew = max(l.skew, now-c.first)
		if !l.net.cfg.stacks { // only bare machines record when a client last spoke
			l.latest = max(l.latest, now-c.spoke)
		}
	}
}

// clientTold records an event of a client.
func (n *network) clientTold(id sim.NodeID, e *health.ClientEvent) {
	f, l := &n.groundTruth.nodes[id], &n.ledger
	if f.quit { // the client's process has ended
		return
	}
	c := l.of(f.client)
	switch e.Kind {
	case health.Evicted:
		l.evicted++
		l.of(id).evicted++
		if c.judged < e.Incarnation || !c.just && !(c.alone > 0 && n.fewBury(f.client, c.judged)) && !n.passedOn(c) {
			l.accuse("client %v was told by server %v that all have evicted it, without a cause", id, nodeOfNID(e.Server))
		}
	case health.Superseded:
		l.superseded++
		f.superseded = true
		if !c.taken {
			l.accuse("client %v was told by server %v that it runs elsewhere, and had given no cause", id, nodeOfNID(e.Server))
		}
	case health.MasterLost:
		l.changes++
		if master := nodeOfNID(e.Server); !n.Up(master) {
			l.of(id).died = n.groundTruth.nodes[master].touched
		}
	case health.MasterChosen:
		if own := l.of(id); own.died > 0 {
			l.rehomed, own.died = append(l.rehomed, n.Now()-own.died), 0
		}
	case health.Dropped:
		l.dropped++
		n.losses.dropped(id, e)
	default:
	}
}

// serverEvent and clientEvent convert events for the digest of a simulation.
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
	return history.NoNode
}
