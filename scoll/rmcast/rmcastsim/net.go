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

// Group is the number of the group.
const Group rmcast.GroupID = 1

// Config configures a [Net]. The zero value of a field means its default.
type Config struct {
	scenario.Network

	// Rmcast is for all nodes. Self, Incarnation, Group, Managers and MTU are set here.
	Rmcast rmcast.GroupConfig
	// Capacity is what machines are told of memory for datagrams that wait, in bytes. 0:
	// enough for a window.
	Capacity int
	// Manager is for all managers, likewise.
	Manager engine.ManagerConfig
	// Managers is how many of the first nodes are managers. Default 1.
	Managers int
	// Members says who joins at its start, and again after a restart, unless it has
	// left; nil: all.
	Members func(sim.NodeID) bool
	// NoMulticast has the payload go down the tree.
	NoMulticast bool
	// Loss is the share of multicast datagrams that each receiver loses.
	Loss float64
	// Discovery, if not 0, is how long it takes at most until the managers hear of a
	// death or return; it takes half of that at least.
	Discovery time.Duration
	// Stacks runs agents above portals and LNet instead of bare machines.
	Stacks bool
	// Bare leaves contents out of the digest, for speed.
	Bare bool
	// Record takes a recording of bare machines.
	Record io.Writer
	// Tap, if not nil, is told of each message of bare machines that is sent, for
	// each receiver once. b is valid during the call.
	Tap func(from, to sim.NodeID, kind Kind, b []byte)
}

// Net is a network of nodes with a group. What is done to nodes has to be done
// through its methods.
type Net struct {
	kit.Base

	cfg          Config
	managers     []nid.NID
	incarnations []incarnation // by node, the latest; nil before the first
	nodes        []membership
	oracle       oracle
	ledger       ledger

	out   engine.Output // of the latest step
	queue []input
}

// incarnation is bare machines or an agent on a node.
type incarnation interface {
	// status is false of one that is in no group.
	status() (engine.Status, bool)
	managing() (engine.Managing, bool)
	stats() engine.Stats
}

// membership is what is known of a node's part in the group.
type membership struct {
	wants       bool          // it joins at its start
	incarnation uint64        // of what it is, or would be, as a member
	began       uint64        // the first of those of its process
	excused     bool          // it may be taken for dead, or be late
	leaveAt     time.Duration // when it was told to leave, by its own clock
	healed      uint64        // how often it has given up being a member of a group without a manager
}

// New makes a network. Its nodes start when it runs.
func New(cfg Config) (*Net, error) {
	n := prepare(cfg)
	if cfg.Stacks {
		return n, n.StartStacks(&n.cfg.Network, kit.Stacks{Boot: n.bootStack})
	}
	return n, kit.Start(&n.Base, &n.cfg.Network, n.machines(), cfg.Record)
}

// prepare makes a Net without a network.
func prepare(cfg Config) *Net {
	cfg.Managers = min(cmp.Or(cfg.Managers, 1), cfg.Nodes)
	cfg.Manager.Fragment = cmp.Or(cfg.Manager.Fragment, 2048)
	n := &Net{cfg: cfg, incarnations: make([]incarnation, cfg.Nodes), nodes: make([]membership, cfg.Nodes)}
	for id := range sim.NodeID(cfg.Managers) {
		n.managers = append(n.managers, simlnd.NID(id))
	}
	for id := range n.nodes {
		n.nodes[id].wants = cfg.Members == nil || cfg.Members(sim.NodeID(id))
	}
	n.Around = n.happens
	n.oracle.init(n)
	n.ledger.init(n)
	return n
}

// machines is what runs at the level of machines.
func (n *Net) machines() kit.Machines[*kit.Message] {
	return kit.Machines[*kit.Message]{Boot: n.boot, Codec: kit.Codec(Order), Hash: hash, Bare: n.cfg.Bare}
}

// happens has discovery and the books hear of what is done to nodes and links.
func (n *Net) happens(a *sim.Act, do func()) {
	switch a.Verb {
	case sim.Kill, sim.Crash:
		if a.Changes {
			n.oracle.ended(a.Node)
			n.ledger.originGone(a.Node)
		}
	case sim.Pause, sim.Skew, sim.Slow:
		n.excuse(sim.Nodes(a.Node))
	case sim.Partition:
		n.excuse(sim.AllNodes)
	case sim.Cut, sim.SetLink:
		n.excuse(a.From)
		n.excuse(a.To)
	}
	do()
}

// began notes that an incarnation begins, as a member with this incarnation.
func (n *Net) began(k incarnation, begins sim.Incarnation, incarnation uint64) {
	n.incarnations[begins.Node] = k
	m := &n.nodes[begins.Node]
	m.incarnation, m.began, m.healed = incarnation, incarnation, 0
	if n.Control != nil {
		n.oracle.started(begins)
	}
}

// excuse notes that nodes are kept from doing their part: another manager may take
// them for dead from now on.
func (n *Net) excuse(set sim.NodeSet) {
	for id := range set.All(n.cfg.Nodes) {
		n.nodes[id].excused = true
	}
}

// id is who a node is, or would be, as a member.
func (n *Net) id(node sim.NodeID) rmcast.ID {
	return rmcast.ID{NID: simlnd.NID(node), Incarnation: n.nodes[node].incarnation}
}

// nodeOf is the node with a NID, which is one of ours.
func nodeOf(id nid.NID) sim.NodeID {
	node, _ := simlnd.Node(id)
	return node
}
