package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Config configures a [Network]. The zero value of a field means its default.
type Config[M any] struct {
	// Nodes is how many nodes there are; at least 1.
	Nodes int
	// Seed is for everything random.
	Seed uint64
	// Boot returns the program of a node's new life. kept is the program of
	// the life before if the restart keeps state, otherwise nil: what a
	// program takes over from it is what it would have on disk. Required.
	Boot func(life Life, kept Program[M]) Program[M]
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
	// further ones are lost and counted. 0 means 65536.
	Inbox int
	// OnEvent is told what programs tell, at the time of the simulation.
	OnEvent func(at time.Duration, node NodeID, ev Event)
	// Hash digests a message's content; nil leaves that out of the digest.
	Hash func(m *M) uint64
	// OnStep sees every step after it was made. in and out are valid during
	// the call only.
	OnStep func(s Step, in *Input[M], out *Output[M])
}

// Step identifies one step of a program.
type Step struct {
	Number uint64 // of all steps, from 1
	Node   NodeID
	Life   uint64
	At     time.Duration // virtual time
	Now    time.Duration // on the node's clock
	Wake   time.Duration // the program's answer
}

// never is the virtual instant that does not come.
const never = math.MaxInt64

// Network is a simulated network. It is not safe for concurrent use.
type Network[M any] struct {
	cfg   Config[M]
	rng   *rand.Rand
	now   int64
	queue queue
	err   error // ends the simulation

	nodes   []node[M]
	clocks  []clock // nil until one drifts
	slow    []int64 // ppm of CPU cost, 0 for 1e6; nil until one is slow
	watched map[NodeID][]watcher

	flights  []flight[M]
	free     int32       // first free flight, -1 if none
	links    []occupancy // of the topology
	access   []accessLink
	topology Topology
	rules    []rule
	group    []uint16 // of a partition; nil: all in one
	cuts     []cut

	actions  []func()         // nil once called
	commands map[int32]string // by flight
	in       Input[M]         // of the last step
	out      Output[M]
	steps    uint64
	digest   uint64
	stats    Stats
}

// node is the simulator's state of one node.
type node[M any] struct {
	program Program[M]
	wake    int64 // virtual time at which it wants a Timer, or never
	armed   int64 // when its earliest evTimer is due, or never
	first   int32 // messages that wait, as flights; -1 if none
	last    int32
	waiting int32
	skip    int32 // messages to go before a timer that came due while paused
	life    uint32
	state   nodeState
}

type nodeState uint8

const (
	stateUp     nodeState = 1 << iota // a process runs
	stateHost                         // a host runs, which refuses what has no process
	statePaused                       // stopped: nothing is processed, no timer comes
	stateBusy                         // the CPU works until evReady
)

// New makes a network. Its nodes start when it runs.
func New[M any](cfg Config[M]) (*Network[M], error) {
	if cfg.Nodes < 1 || cfg.Nodes > math.MaxInt32 {
		return nil, fmt.Errorf("sim: %d nodes: want 1 to %d", cfg.Nodes, math.MaxInt32)
	}
	if cfg.Boot == nil {
		return nil, fmt.Errorf("sim: Config.Boot is required")
	}
	if cfg.Inbox == 0 {
		cfg.Inbox = 1 << 16
	}
	if cfg.Topology == nil {
		cfg.Topology = &Flat{}
	}
	n := &Network[M]{
		cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, streamNetwork)), free: -1,
		nodes: make([]node[M], cfg.Nodes), topology: cfg.Topology,
		links: make([]occupancy, len(cfg.Topology.Rates())),
	}
	if cfg.AccessRate > 0 {
		n.SetAccessRate(AllNodes, cfg.AccessRate)
	}
	for i := range n.nodes {
		n.nodes[i] = node[M]{wake: never, armed: never, first: -1, last: -1}
		at := int64(0)
		if cfg.StartAt != nil {
			at = int64(cfg.StartAt(NodeID(i)))
		}
		n.queue.push(event{at: at, node: int32(i), kind: evStart})
	}
	return n, nil
}

// Streams keep the random numbers for different ends apart.
const (
	streamNetwork = 1
	streamNodes   = 2
)

// Nodes returns how many nodes there are.
func (n *Network[M]) Nodes() int { return len(n.nodes) }

// Now returns the virtual time.
func (n *Network[M]) Now() time.Duration { return time.Duration(n.now) }

// Program returns what runs on a node, or ran there last; nil before its start.
func (n *Network[M]) Program(id NodeID) Program[M] { return n.nodes[id].program }

// Up reports whether a process runs on a node, paused or not.
func (n *Network[M]) Up(id NodeID) bool { return n.nodes[id].state&stateUp != 0 }

// Paused reports whether a node is paused.
func (n *Network[M]) Paused(id NodeID) bool { return n.nodes[id].state&statePaused != 0 }

// Digest is a digest of all events so far, in order. Two runs with equal
// digests were the same run.
func (n *Network[M]) Digest() uint64 { return n.digest }

// Stats returns the counters so far.
func (n *Network[M]) Stats() Stats {
	s := n.stats
	s.Steps, s.Queued = n.steps, n.queue.len()
	return s
}

// At calls f at a virtual instant, which must not be past, before events
// that are caused later for the same instant.
func (n *Network[M]) At(at time.Duration, f func()) {
	n.actions = append(n.actions, f)
	n.queue.push(event{at: max(int64(at), n.now), ref: int32(len(n.actions) - 1), kind: evAction})
}

// Run processes every event up to and including an instant, which then is the
// time. The error, once there is one, is that of a program which broke the
// contract of machines, and stays.
func (n *Network[M]) Run(until time.Duration) error {
	for n.err == nil {
		at, ok := n.queue.next()
		if !ok || at > int64(until) {
			n.now = max(n.now, int64(until))
			break
		}
		n.process(n.queue.pop())
	}
	return n.err
}

// RunEvents processes at most so many events, and reports how many there were.
func (n *Network[M]) RunEvents(limit int) (int, error) {
	for i := range limit {
		if n.err != nil || n.queue.len() == 0 {
			return i, n.err
		}
		n.process(n.queue.pop())
	}
	return limit, n.err
}

// process handles one event.
func (n *Network[M]) process(e event) {
	n.now = e.at
	n.stats.Events++
	switch e.kind {
	case evTimer:
		n.timer(NodeID(e.node), e.at)
	case evArrive:
		n.arrive(NodeID(e.node), e.ref)
	case evHop:
		n.hop(e.ref)
	case evReady:
		n.ready(NodeID(e.node), e.ref)
	case evAction:
		f := n.actions[e.ref]
		n.actions[e.ref] = nil
		f()
	case evStart:
		n.start(NodeID(e.node), nil)
	}
}
