package rmcastsim

import (
	"cmp"
	"io"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/machine/record"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast"
	"ulnet/scoll/rmcast/engine"
)

// Group is the number of the group.
const Group engine.GroupID = 1

// Config configures a [Net]. The zero value of a field means its default.
type Config struct {
	// The network, as in sim.Config.
	Nodes      int
	Seed       uint64
	Topology   sim.Topology
	AccessRate int64
	CPU        sim.CPU
	Inbox      int
	StartAt    func(sim.NodeID) time.Duration

	// Rmcast is for all nodes. Self, Life, Group, Managers and MTU are set here.
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
	sim.Control // the network, with discovery that hears what is done

	cfg      Config
	managers []nid.NID
	fabric   *simlnd.Fabric // at Stacks
	programs []*program     // by node, of the latest life; nil before the first
	stacks   []*stack
	nodes    []membership
	oracle   oracle
	ledger   ledger
	recorder *sim.Recorder[*message]

	out   engine.Output // of the latest step
	queue []input
	err   error // of a boot
}

// membership is what is known of a node's part in the group.
type membership struct {
	wants   bool          // it joins at its start
	life    uint64        // of what it is, or would be, as a member
	began   uint64        // the first of those of its process
	excused bool          // it may be taken for dead, or be late
	leaveAt time.Duration // when it was told to leave, by its own clock
	healed  uint64        // how often it has given up being a member of a group without a manager
}

// New makes a network. Its nodes start when it runs.
func New(cfg Config) (*Net, error) {
	n := prepare(cfg)
	if cfg.Stacks {
		return n, n.newFabric()
	}
	return n, n.newNetwork()
}

// prepare makes a Net without a network.
func prepare(cfg Config) *Net {
	cfg.Managers = min(cmp.Or(cfg.Managers, 1), cfg.Nodes)
	cfg.Manager.Fragment = cmp.Or(cfg.Manager.Fragment, 2048)
	n := &Net{cfg: cfg, programs: make([]*program, cfg.Nodes), nodes: make([]membership, cfg.Nodes)}
	for id := range sim.NodeID(cfg.Managers) {
		n.managers = append(n.managers, simlnd.NID(id))
	}
	for id := range n.nodes {
		n.nodes[id].wants = cfg.Members == nil || cfg.Members(sim.NodeID(id))
	}
	n.oracle.init(n)
	n.ledger.init(n)
	return n
}

// newNetwork makes a network of bare machines.
func (n *Net) newNetwork() (err error) {
	cfg := &n.cfg
	conf := sim.Config[*message]{
		Nodes: cfg.Nodes, Seed: cfg.Seed, Topology: cfg.Topology, AccessRate: cfg.AccessRate,
		CPU: cfg.CPU, Inbox: cfg.Inbox, StartAt: cfg.StartAt, Boot: n.boot,
	}
	if !cfg.Bare {
		conf.Hash = hash
	}
	if cfg.Record != nil {
		n.recorder = sim.NewRecorder(cfg.Record, codec{}, record.Digests, nil)
		conf.Recorder = n.recorder
	}
	n.Control, err = sim.New(conf)
	return err
}

// Run lets the network run, see sim.Network.
func (n *Net) Run(until time.Duration) error {
	if err := n.Control.Run(until); err != nil {
		return err
	}
	return n.err
}

// Close ends the recording of a run.
func (n *Net) Close() error {
	if n.recorder == nil {
		return nil
	}
	return n.recorder.Close()
}

// now is the time of the network; 0 where machines are stepped without one.
func (n *Net) now() time.Duration {
	if n.Control == nil {
		return 0
	}
	return n.Now()
}

// Kill implements sim.Control.
func (n *Net) Kill(id sim.NodeID) {
	if n.Up(id) {
		n.ended(id)
	}
	n.Control.Kill(id)
}

// Crash implements sim.Control.
func (n *Net) Crash(id sim.NodeID) {
	if n.Up(id) {
		n.ended(id)
	}
	n.Control.Crash(id)
}

// ended notes that a life ends.
func (n *Net) ended(id sim.NodeID) {
	n.oracle.ended(id)
	n.ledger.originGone(id)
}

// Pause implements sim.Control.
func (n *Net) Pause(id sim.NodeID) {
	n.excuse(sim.Nodes(id))
	n.Control.Pause(id)
}

// SetSkew implements sim.Control.
func (n *Net) SetSkew(id sim.NodeID, ppm int64) {
	n.excuse(sim.Nodes(id))
	n.Control.SetSkew(id, ppm)
}

// SetSlow implements sim.Control.
func (n *Net) SetSlow(id sim.NodeID, extra time.Duration) {
	n.excuse(sim.Nodes(id))
	n.Control.SetSlow(id, extra)
}

// Partition implements sim.Control.
func (n *Net) Partition(sets ...sim.NodeSet) {
	n.excuse(sim.AllNodes)
	n.Control.Partition(sets...)
}

// Cut implements sim.Control.
func (n *Net) Cut(from, to sim.NodeSet) {
	n.excuse(from)
	n.excuse(to)
	n.Control.Cut(from, to)
}

// SetLink implements sim.Control.
func (n *Net) SetLink(from, to sim.NodeSet, change link.Change) {
	n.excuse(from)
	n.excuse(to)
	n.Control.SetLink(from, to, change)
}

// excuse notes that nodes are kept from doing their part: another manager may take
// them for dead from now on.
func (n *Net) excuse(set sim.NodeSet) {
	for id := range set.All(n.cfg.Nodes) {
		n.nodes[id].excused = true
	}
}

// id is who a node is, or would be, as a member.
func (n *Net) id(node sim.NodeID) engine.ID {
	return engine.ID{NID: simlnd.NID(node), Life: n.nodes[node].life}
}

// nodeOf is the node with a NID, which is one of ours.
func nodeOf(id nid.NID) sim.NodeID {
	node, _ := simlnd.Node(id)
	return node
}

var _ sim.Control = (*Net)(nil)
