package sim

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"ulnet/lnd/link"
)

// Config configures a [Network]. The zero value of a field means its default.
type Config[M any] struct {
	// Nodes is how many nodes there are; at least 1.
	Nodes int
	// Seed is the seed of all random numbers.
	Seed uint64
	// Boot returns the program of a node's new incarnation. kept is the program of
	// the incarnation before if the restart keeps state, otherwise nil: the new one may
	// take over from it what it would have on disk. Required.
	Boot func(incarnation Incarnation, kept Program[M]) Program[M]
	// StartAt says when a node starts for the first time; nil: all at 0.
	StartAt func(NodeID) time.Duration
	// Topology is the paths between nodes; nil is Flat with perfect links.
	Topology Topology
	// AccessRate is the bandwidth of each node's own link, each way, in bits
	// per second; 0 is unlimited.
	AccessRate int64
	// CPU is what a step costs; nothing by default.
	CPU CPU
	// Inbox bounds the messages that wait at a node which is busy or paused;
	// further ones are lost and counted. 0 means DefaultInbox.
	Inbox int
	// OnEvent is called with each event of a program and its virtual time.
	OnEvent func(at time.Duration, node NodeID, ev Event)
	// Hash digests a message's content; nil leaves that out of the digest.
	Hash func(m *M) uint64
	// OnStep sees every step after it was made. in and out are valid during
	// the call only.
	OnStep func(s Step, in *Input[M], out *Output[M])
	// Recorder, if not nil, records the run.
	Recorder *Recorder[M]
}

// DefaultInbox is the default of Config.Inbox.
const DefaultInbox = 1 << 16

// never is the virtual instant that does not come.
const never = math.MaxInt64

// Network is a simulated network. It is not safe for concurrent use. The programs and
// [Config].OnEvent, OnStep and Hash may only read it; to change something they call At
// or Stop.
type Network[M any] struct {
	cfg   Config[M]
	rng   *rand.Rand
	now   int64
	queue queue
	err   error // error that ends the simulation

	nodes   []node[M]
	clocks  []clock // clock of each node; nil until one drifts
	slow    []int64 // extra CPU time of each step, by node; nil until a node is made slow
	watched map[NodeID][]watcher

	flights  flights[M]
	topology Topology
	flat     *link.Quality // quality of all paths; nil: paths differ, and topology gives the quality of each
	links    []occupancy   // state of the topology's shared links
	access   []accessLink  // access link of each node; nil if all are unlimited
	departed int64         // when the message that was sent last has passed its sender's own link
	rules    []rule
	cuts     Cuts
	stalls   []stall

	actions  actions
	commands map[int32]string // texts of commands under way, by flight
	observe  func(Step)
	in       Input[M] // input of the last step
	out      Output[M]
	costs    bool // whether steps take CPU time
	steps    uint64
	stepping int32 // 1 + the node whose program is being stepped, or 0
	digest   digest
	stats    Stats
	touched  int64 // a sum that is never read; see touch
}

// node is the simulator's state of one node, and fills a cache line.
type node[M any] struct {
	program     Program[M] // program of the last incarnation; nil before the first
	wake        int64      // virtual time at which the program wants a Timer, or never
	armed       int64      // time of the node's next evTimer, in ns, or never
	rearm       int64      // time of a later evTimer of the node in the queue, or never; becomes armed when the evTimer in armed is handled
	first       int32      // first of the waiting flights, if waiting > 0
	last        int32
	waiting     int32
	turn        int32 // while messages of a pause are handled: 1 + number of those before the due timer; 0 at all other times
	incarnation uint32
	state       nodeState
}

type nodeState uint8

const (
	stateUp     nodeState = 1 << iota // a process runs on the node
	stateHost                         // a host runs: while no process runs there, it refuses messages
	statePaused                       // the process is stopped: no input and no timer reaches it
	stateBusy                         // the CPU works until the event evReady
)

// New makes a network. Its nodes start when it runs.
func New[M any](cfg Config[M]) (*Network[M], error) {
	if cfg.Nodes < 1 || cfg.Nodes > math.MaxInt32 {
		return nil, fmt.Errorf("sim: %d nodes: want 1 to %d", cfg.Nodes, math.MaxInt32)
	}
	if cfg.Boot == nil {
		return nil, fmt.Errorf("sim: Config.Boot is required")
	}
	cfg.Inbox = cmp.Or(cfg.Inbox, DefaultInbox)
	if cfg.Topology == nil {
		cfg.Topology = &Flat{}
	}
	n := &Network[M]{
		cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, streamNetwork)),
		nodes: make([]node[M], cfg.Nodes), flights: flights[M]{free: -1},
		topology: cfg.Topology, links: make([]occupancy, len(cfg.Topology.Rates())),
		costs: cfg.CPU != CPU{},
	}
	if t, ok := cfg.Topology.(*Flat); ok {
		n.flat = &t.Link
	}
	if cfg.Recorder != nil {
		cfg.Recorder.index = make([]int32, cfg.Nodes)
	}
	if cfg.AccessRate > 0 {
		n.SetAccessRate(AllNodes, cfg.AccessRate)
	}
	for i := range n.nodes {
		n.nodes[i] = node[M]{wake: never, armed: never, rearm: never}
		at := int64(0)
		if cfg.StartAt != nil {
			at = max(int64(cfg.StartAt(NodeID(i))), 0)
		}
		n.queue.push(newEvent(at, evStart, NodeID(i), 0))
	}
	return n, nil
}

// Streams of random numbers: the network draws from one, the nodes' seeds come from another, so
// that more draws of one do not change the other.
const (
	streamNetwork = 1
	streamNodes   = 2
)

// Nodes returns how many nodes there are.
func (n *Network[M]) Nodes() int { return len(n.nodes) }

// Now returns the virtual time.
func (n *Network[M]) Now() time.Duration { return time.Duration(n.now) }

// Program returns the program that runs on a node, or ran there last; nil before its start.
func (n *Network[M]) Program(id NodeID) Program[M] { return n.nodes[id].program }

// Up reports whether a process runs on a node, paused or not.
func (n *Network[M]) Up(id NodeID) bool { return n.nodes[id].state&stateUp != 0 }

// Paused reports whether node id is paused.
func (n *Network[M]) Paused(id NodeID) bool { return n.nodes[id].state&statePaused != 0 }

// Digest is a digest of all steps so far, in order. Two runs with equal
// digests were the same run.
func (n *Network[M]) Digest() uint64 { return uint64(n.digest) }

// Stats returns the counters so far.
func (n *Network[M]) Stats() Stats {
	s := n.stats
	s.Steps, s.Queued = n.steps, n.queue.len()
	return s
}

// Observe lets f see every step after it was made; nil ends that.
func (n *Network[M]) Observe(f func(Step)) { n.observe = f }
