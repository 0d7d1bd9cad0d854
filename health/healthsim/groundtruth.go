package healthsim

import (
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// groundTruth is what was done to nodes and links. What of it excuses an eviction, or that
// servers do not agree, is in exempt.go.
type groundTruth struct {
	net   *Net
	nodes []nodeHistory
	sim.Cuts
	links []link.Quality // of the topology
	rules []rule         // changes of them
	// poorAmong: those between servers are.
	poorAmong bool
	touched   time.Duration // when something was last done to a server or to a link
	unsent    time.Duration // when a broadcast could last not be sent
}

// nodeHistory is what has happened to a node.
type nodeHistory struct {
	began   time.Duration // the latest incarnation
	stopped bool
	paused  time.Duration // since when; with stopped
	stood   time.Duration // how long the latest pause was
	resumed time.Duration // when that ended
	links   bool          // one between it and a server is bad, or one between servers
	skewed  bool          // its clock is wrong
	slow    bool          // its steps take long
	trouble time.Duration // when the latest trouble of its client ended; never: there was none
	touched time.Duration // when something was last done to its client

	ended      time.Duration // when the client with this node's id last ended; 0: it has not
	endedOn    sim.NodeID    // on which node
	over       bool          // the client on this node has ended, and the node has not
	quit       bool          // without a word
	clientless bool          // later incarnations of this node have no client
	talks      bool          // other programs of this node exchange messages with servers
	talked     bool          // in this incarnation
	client     sim.NodeID    // whose id the client on this node has
	ordered    uint64        // this incarnation was evicted by hand
	superseded bool          // the client on this node was told that it runs elsewhere
}

// never is before everything.
const never = -1 << 62

// rule is a change of links.
type rule struct {
	sim.Severed
	change link.Change
}

func (t *groundTruth) init(n *Net) {
	t.net, t.nodes, t.unsent = n, make([]nodeHistory, n.cfg.Servers+n.cfg.Clients), never
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

// now is the time of the network.
func (t *groundTruth) now() time.Duration { return t.net.Now() }

// touch notes that something is done to a node.
func (t *groundTruth) touch(id sim.NodeID) {
	t.nodes[id].touched = t.now()
	if t.net.isServer(id) {
		t.touched = t.now()
	}
}

func (t *groundTruth) began(id sim.NodeID) {
	old := &t.nodes[id]
	t.nodes[id] = nodeHistory{
		began: t.now(), trouble: never, client: id, ended: old.ended, endedOn: old.endedOn, links: old.links, skewed: old.skewed, slow: old.slow,
		clientless: old.clientless, talks: old.clientless, talked: old.clientless, quit: old.clientless, over: old.clientless,
	}
	t.touch(id)
}

// end notes that the client with a node's id has ended; without its node others of that go on.
func (t *groundTruth) end(id sim.NodeID, quit bool) {
	f := &t.nodes[id]
	f.over, f.quit = true, f.quit || quit
	t.nodes[f.client].ended, t.nodes[f.client].endedOn = t.now(), id
	t.touch(id)
}

// impersonates notes that the client on a node goes on with the id of another one.
func (t *groundTruth) impersonates(id, other sim.NodeID) {
	t.end(id, false)
	t.nodes[id].client, t.nodes[id].over, t.nodes[id].quit = other, false, false
	if !t.net.isImpostor(id) {
		t.net.impostors = append(t.net.impostors, id)
	}
}

func (t *groundTruth) pause(id sim.NodeID) {
	t.nodes[id].paused, t.nodes[id].stopped = t.now(), true
	t.touch(id)
}

func (t *groundTruth) resume(id sim.NodeID) {
	t.ending()
	if f := &t.nodes[id]; f.stopped {
		f.stopped, f.stood, f.resumed = false, t.now()-f.paused, t.now()
	}
	t.touch(id)
}

func (t *groundTruth) partition(sets []sim.NodeSet) {
	t.ending()
	t.Partition(len(t.nodes), sets)
	t.touched = t.now()
}

func (t *groundTruth) cut(from, to sim.NodeSet) {
	t.Cut(from, to)
	t.touched = t.now()
}

func (t *groundTruth) heal() {
	t.ending()
	t.Heal()
	t.touched = t.now()
}

// change notes a change of links; none: all changes are undone.
func (t *groundTruth) change(rules ...rule) {
	t.ending()
	if t.rules = append(t.rules, rules...); len(rules) == 0 {
		t.rules = nil
	}
	t.judgeLinks()
	t.touched = t.now()
}

func (t *groundTruth) clock(id sim.NodeID, wrong bool) {
	t.ending()
	t.nodes[id].skewed = wrong
	t.touch(id)
}

func (t *groundTruth) slowed(id sim.NodeID, slow bool) {
	t.ending()
	t.nodes[id].slow = slow
	t.touch(id)
}
