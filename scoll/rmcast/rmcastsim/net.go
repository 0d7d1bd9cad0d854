package rmcastsim

import (
	"cmp"
	"io"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast"
	"ulnet/scoll/rmcast/engine"
)

// group is the number of the simulated group.
const group rmcast.GroupID = 1

// Config configures a [Net]. The zero value of a field means its default.
type Config struct {
	scenario.Network

	// Rmcast configures all members. The Net itself sets Self, Incarnation, Group, Managers and MTU.
	Rmcast rmcast.GroupConfig
	// Capacity is the receive memory that machines report, in bytes. 0: enough for a window.
	Capacity int
	// Manager configures all managers. The Net itself sets Self, Incarnation, Group and Managers.
	Manager engine.ManagerConfig
	// Managers is how many of the first nodes are managers. Default 1.
	Managers int
	// Members reports whether a node joins at its start, and again after a restart unless it
	// has left; nil: all nodes do.
	Members func(sim.NodeID) bool
	// NoMulticast sends the payload down the tree.
	NoMulticast bool
	// Loss is the probability that a receiver loses a multicast datagram.
	Loss float64
	// Discovery, if not 0, is the longest time until managers hear of a death or return. The
	// shortest time is half of it.
	Discovery time.Duration
	// Gossip makes managers hear of deaths as gossip reports them, also of the deaths of nodes that are only
	// cut off. It needs Discovery.
	Gossip bool
	// Stacks runs agents above portals and LNet instead of machines.
	Stacks bool
	// Bare leaves message contents out of the digest, for speed.
	Bare bool
	// Record, if not nil, receives a recording of the machines.
	Record io.Writer
	// Tap, if not nil, is called for each message that a machine sends, once per receiver. b
	// is valid during the call.
	Tap func(from, to sim.NodeID, kind Kind, b []byte)
}

// Net is a network of nodes with a group. Faults must be applied through its methods, so that
// it knows of them.
type Net struct {
	kit.Base

	cfg          Config
	managers     []nid.NID
	incarnations []incarnation // latest incarnation of each node; nil before its first
	nodes        []membership
	links        kit.LinkHistory
	paths        [][]path // by manager and node
	oracle       oracle
	gossip       gossip
	ledger       ledger

	out   engine.Output // output of the latest step of any machine
	queue []input
}

// incarnation is the machines or the agent of one incarnation of a node.
type incarnation interface {
	// status returns false if the node is in no group.
	status() (engine.Status, bool)
	managing() (engine.Managing, bool)
	stats() engine.Stats
}

// membership is the simulation's state of one node as a member.
type membership struct {
	nodeFaults
	wants       bool          // the node joins the group when it starts
	incarnation uint64        // incarnation of the member that the node is, or would be
	began       uint64        // number of the process's first incarnation
	leaving     bool          // the node was told to leave, and has not left yet
	leaveAt     time.Duration // time at which the node was told to leave, by its own clock
	toldAt      time.Duration // leaveAt by the simulation's clock
	failed      bool          // the node has left, and a manager may have counted it as failed before, see mayFail
	healedAt    uint64        // value of healed when the node was told to leave
	healed      uint64        // how often the node gave up its membership of a group without a manager
}

// New makes a network. Its nodes start when it runs.
func New(cfg Config) (*Net, error) {
	n := prepare(cfg)
	var err error
	if cfg.Stacks {
		err = n.StartStacks(&n.cfg.Network, kit.Stacks{Boot: n.bootStack})
	} else {
		err = kit.Start(&n.Base, &n.cfg.Network, n.machines(), cfg.Record)
	}
	if err != nil {
		return n, err
	}
	if n.noteAll(); cfg.Gossip {
		n.gossip.start()
	}
	return n, err
}

// prepare makes a Net that is not started.
func prepare(cfg Config) *Net {
	cfg.Managers = min(cmp.Or(cfg.Managers, 1), cfg.Nodes)
	cfg.Manager.Fragment = cmp.Or(cfg.Manager.Fragment, 2048)
	n := &Net{cfg: cfg, incarnations: make([]incarnation, cfg.Nodes), nodes: make([]membership, cfg.Nodes)}
	for id := range sim.NodeID(cfg.Managers) {
		n.managers, n.paths = append(n.managers, simlnd.NID(id)), append(n.paths, make([]path, cfg.Nodes))
	}
	for id := range n.nodes {
		n.nodes[id].wants = cfg.Members == nil || cfg.Members(sim.NodeID(id))
	}
	n.Around = n.happens
	n.oracle.init(n)
	n.gossip.init(n)
	n.ledger.init(n)
	return n
}

// machines describes the machines to the simulation kit.
func (n *Net) machines() kit.Machines[*kit.Message] {
	return kit.Machines[*kit.Message]{Boot: n.boot, Codec: kit.Codec(order), Hash: hash, Bare: n.cfg.Bare}
}

// happens tells the oracle and the ledger about faults of nodes and links.
func (n *Net) happens(a *sim.Act, do func()) {
	if n.happened(a); a.Ends() {
		n.nodes[a.Node].leaving = false
		n.oracle.ended(a.Node)
		n.ledger.originGone(a.Node)
	}
	do()
	n.gossip.reach = nil
}

// began records that a node has started with the program k, and the incarnation that it has as a
// member.
func (n *Net) began(k incarnation, begins sim.Incarnation, incarnation uint64) {
	n.incarnations[begins.Node] = k
	m := &n.nodes[begins.Node]
	m.incarnation, m.began, m.healed, m.down = incarnation, incarnation, 0, false
	if n.Control != nil {
		m.begunAt = n.Now()
		n.noteNode(begins.Node)
		n.oracle.started(begins)
		n.gossip.started(begins.Node)
	}
}

// id returns the ID of a node as a member, present or future.
func (n *Net) id(node sim.NodeID) rmcast.ID {
	return rmcast.ID{NID: simlnd.NID(node), Incarnation: n.nodes[node].incarnation}
}
