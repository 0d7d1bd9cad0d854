package healthsim

import (
	"slices"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// groundTruth records the faults of nodes and links. The functions in exempt.go decide which
// faults justify an eviction, or a disagreement between servers.
type groundTruth struct {
	net   *network
	nodes []nodeHistory
	sim.Cuts
	links []link.Quality // qualities of the topology's links
	rules []rule         // changes of link qualities, in the order of time
	// a link between two servers is poor
	poorAmong bool
	touched   time.Duration // when something was last done to a server or to a link
	unsent    time.Duration // time at which sending a broadcast last failed
	cutsOff   bool          // there was a partition or a cut when reach was called last
}

// nodeHistory records what was done to a node.
type nodeHistory struct {
	stopped bool          // the node is paused
	paused  time.Duration // time at which the present pause began, if stopped
	stood   time.Duration // length of the latest pause
	resumed time.Duration // time at which the latest pause ended
	booted  time.Duration // when this incarnation of the node began
	drains  bool          // the server was told to take no clients
	contact               // which servers the client on the node reaches
	links   bool          // a link between this node and a server, or between two servers, is poor
	skewed  bool          // the node's clock is wrong
	slow    bool          // steps of the node take long
	trouble time.Duration // when the node's client was last in trouble (see inTrouble); never: it was not
	touched time.Duration // time at which something was last done to the node's client

	ended      time.Duration // when the client with this node's id last ended; 0: never
	endedOn    sim.NodeID    // the node on which the client ended
	over       bool          // the client on this node has ended, but the node goes on
	quit       bool          // the client ended without a message
	clientless bool          // later incarnations of this node have no client
	talks      bool          // other programs of this node exchange messages with servers
	talked     bool          // other programs of the node sent messages in this incarnation
	client     sim.NodeID    // the node whose client id the client on this node has
	ordered    uint64        // the incarnation that an administrator told servers to evict
	superseded bool          // the client on this node was told of a later incarnation elsewhere
}

// never is a time before the simulation begins.
const never = -1 << 62

// rule changes the quality of some links.
type rule struct {
	sim.Severed
	change link.Change
}

func (t *groundTruth) init(n *network) {
	t.net, t.nodes, t.unsent = n, make([]nodeHistory, n.cfg.Nodes), never
	for i := range t.nodes {
		t.nodes[i] = nodeHistory{trouble: never, client: sim.NodeID(i)}
	}
	switch l := n.cfg.Topology.(type) {
	case *sim.Flat:
		t.links = []link.Quality{l.Link}
	case *sim.Groups:
		t.links = []link.Quality{l.Inside, l.Between}
	}
	t.judgeLinks()
}

// now returns the time of the network.
func (t *groundTruth) now() time.Duration { return t.net.Now() }

// touch records that something is done to a node.
func (t *groundTruth) touch(id sim.NodeID) {
	t.nodes[id].touched = t.now()
	if t.net.isServer(id) {
		t.touched = t.now()
	}
}

func (t *groundTruth) began(id sim.NodeID) {
	old := &t.nodes[id]
	t.nodes[id] = nodeHistory{
		trouble: never, client: id, booted: t.now(), ended: old.ended, endedOn: old.endedOn, links: old.links, contact: old.contact, skewed: old.skewed, slow: old.slow,
		clientless: old.clientless, talks: old.clientless, talked: old.clientless, quit: old.clientless, over: old.clientless,
	}
	t.touch(id)
	if t.net.isServer(id) {
		clear(t.net.losses.has[id]) // events report the clients that the server restores from its records
	}
	t.net.losses.changed()
	t.reach()
}

// end records that the client on a node has ended, while the node's other programs go on.
func (t *groundTruth) end(id sim.NodeID, quit bool) {
	f := &t.nodes[id]
	f.over, f.quit = true, f.quit || quit
	t.nodes[f.client].ended, t.nodes[f.client].endedOn = t.now(), id
	t.touch(id)
}

// impersonates records that the client on a node ends, and continues with the id of another
// node's client.
func (t *groundTruth) impersonates(id, other sim.NodeID) {
	t.end(id, false)
	t.nodes[id].client, t.nodes[id].over, t.nodes[id].quit = other, false, false
	if !slices.Contains(t.net.impostors, id) {
		t.net.impostors = append(t.net.impostors, id)
	}
}

// happens carries out an act of a scenario on nodes and links, and records it in the
// ground truth and the oracle.
func (n *network) happens(a *sim.Act, do func()) {
	do()
	switch a.Verb {
	case sim.Kill, sim.Crash, sim.Pause, sim.Resume:
		n.live(a)
	case sim.Skew, sim.Slow:
		n.slowed(a)
	default:
		n.divide(a)
	}
	n.losses.changed()
	n.groundTruth.reach()
}

// live records that a node dies, is paused or runs again.
func (n *network) live(a *sim.Act) {
	t, id, now := &n.groundTruth, a.Node, n.Now()
	f := &t.nodes[id]
	if a.Verb == sim.Resume {
		t.ending()
	}
	t.touch(id)
	n.oracle.Changed()
	switch {
	case !a.Changes:
	case a.Verb == sim.Pause:
		f.stopped, f.paused = true, now
		if f.cut {
			f.paused = t.cutSince(f)
		} else if f.healed > 0 {
			f.paused = t.begin(f.cutAt, f.healed)
		}
	case a.Verb == sim.Resume:
		f.stopped, f.stood, f.resumed = false, now-f.paused, now
		n.oracle.resumed(id)
	default:
		t.end(id, false)
		n.oracle.ended(id)
	}
}

// slowed is called when a node's clock becomes wrong or its steps become slow, or both become
// right again.
func (n *network) slowed(a *sim.Act) {
	t := &n.groundTruth
	t.ending()
	t.touch(a.Node)
	if a.Verb == sim.Skew {
		t.nodes[a.Node].skewed = a.PPM > tolerableSkew || a.PPM < -tolerableSkew
	} else {
		t.nodes[a.Node].slow = a.Extra > n.timing.Ping/100
	}
}

// divide records a change of the network.
func (n *network) divide(a *sim.Act) {
	t := &n.groundTruth
	if a.Verb != sim.Cut {
		t.ending()
	}
	t.touched = t.now()
	switch a.Verb {
	case sim.Partition:
		t.Partition(len(t.nodes), a.Sets)
	case sim.Cut:
		t.Cut(a.From, a.To)
	case sim.Heal:
		t.Heal()
	case sim.SetLink:
		t.rules = append(t.rules, rule{sim.Severed{From: a.From, To: a.To}, a.Change})
	default:
		t.rules = nil
	}
	if a.Verb == sim.SetLink || a.Verb == sim.ResetLinks {
		t.judgeLinks()
	} else {
		n.oracle.Changed()
	}
}
