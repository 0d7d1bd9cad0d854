package gossipsim

import (
	"io"
	"time"

	"ulnet/gossip"
	"ulnet/gossip/engine"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnet/machine/record"
)

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

	// Gossip is for all nodes. Seed is each life's own.
	Gossip gossip.Config
	// Columns, if not 0, tracks the first participants only; not at Stacks.
	Columns int
	// ColdStart says which lives speak at once; nil: those that
	// Gossip.ColdStart says, if they are a node's first.
	ColdStart func(sim.Life) bool
	// Members is how many nodes the first list has; 0: all.
	Members int
	// Stacks runs agents above portals and LNet instead of bare machines.
	Stacks bool
	// Log, if not nil, keeps the history of the run.
	Log *history.Log
	// Tell is told all that machines tell; not at Stacks.
	Tell func(at time.Duration, node sim.NodeID, e *engine.Event)
	// Bare leaves contents out of the digest and judges no events, for speed.
	Bare bool
	// Record takes a recording of the machines.
	Record io.Writer
}

// Net is a network of nodes that gossip. What is done to it through its
// methods is the truth that events are judged by.
type Net struct {
	sim.Control // the network, with a truth that hears what is done

	cfg      Config
	limits   engine.Limits
	lists    lists
	programs []*program // by node, of the latest life; nil before the first
	stacks   []*stack
	recorder *sim.Recorder[*message]
	truth    truth
	verdict  Verdict

	out  engine.Output // of the latest step
	pool pool
	err  error // of a boot
}

// New makes a network. Its nodes start when it runs. The error is a
// *gossip.Error, or the simulator's.
func New(cfg Config) (*Net, error) {
	n, err := prepare(cfg)
	if err != nil {
		return nil, err
	}
	var c sim.Control
	if cfg.Stacks {
		c, err = n.newFabric()
	} else {
		c, err = n.newNetwork()
	}
	if err != nil {
		return nil, err
	}
	if cfg.Log != nil {
		c = cfg.Log.Control(c)
	}
	n.Control = c
	n.truth.clock = c.Now
	return n, nil
}

// prepare makes a Net without a network.
func prepare(cfg Config) (*Net, error) {
	if cfg.Members == 0 {
		cfg.Members = cfg.Nodes
	}
	n := &Net{cfg: cfg, programs: make([]*program, cfg.Nodes)}
	if err := n.lists.init(cfg.Nodes, cfg.Members); err != nil {
		return nil, err
	}
	var err error
	n.limits, err = cfg.Gossip.Engine().Limits(cfg.Members)
	n.truth.init(cfg.Nodes, n.grace())
	return n, err
}

// newNetwork makes a network of bare machines.
func (n *Net) newNetwork() (sim.Control, error) {
	cfg := &n.cfg
	conf := sim.Config[*message]{
		Nodes: cfg.Nodes, Seed: cfg.Seed, Topology: cfg.Topology, AccessRate: cfg.AccessRate,
		CPU: cfg.CPU, Inbox: cfg.Inbox, StartAt: cfg.StartAt, Boot: n.boot, OnEvent: n.event,
	}
	if !cfg.Bare {
		conf.Hash = hash
	}
	n.pool.off = doubles(cfg.Topology)
	if cfg.Record != nil {
		n.recorder = sim.NewRecorder(cfg.Record, codec{}, record.Digests, nil)
		conf.Recorder = n.recorder
	}
	return sim.New(conf)
}

// doubles reports whether the links of a topology may double messages.
func doubles(t sim.Topology) bool {
	switch t := t.(type) {
	case nil:
		return false
	case *sim.Flat:
		return t.Link.Duplicate > 0
	case *sim.Groups:
		return t.Inside.Duplicate > 0 || t.Between.Duplicate > 0
	}
	return true
}

// Close ends the recording of a run.
func (n *Net) Close() error {
	if n.recorder == nil {
		return nil
	}
	return n.recorder.Close()
}

// Run lets the network run, see sim.Network.
func (n *Net) Run(until time.Duration) error {
	if err := n.Control.Run(until); err != nil {
		return err
	}
	return n.err
}

// Limits are those of the first list.
func (n *Net) Limits() engine.Limits { return n.limits }

// Cycles is the time of so many gossip cycles.
func (n *Net) Cycles(k int) time.Duration { return time.Duration(k) * n.cfg.Gossip.Interval }

// grace is how long after a trouble its traces may be seen.
func (n *Net) grace() time.Duration { return n.Cycles(n.limits.Dead + n.limits.Resync) }
