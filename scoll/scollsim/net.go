package scollsim

import (
	"io"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/lnetsim"
	"ulnet/lnet/machine/record"
	"ulnet/scoll"
	"ulnet/scoll/engine"
)

// Service is the number of the service on all nodes.
const Service scoll.ServiceID = 1

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

	// Scoll is for all nodes. Self, Incarnation and Watched are each node's own.
	Scoll scoll.Config
	// Tree is that of all groups.
	Tree scoll.Tree
	// Segment, if not 0, has bulk data pipelined in segments of so many bytes.
	Segment uint32
	// Carry is that of all broadcasts, see scoll.RequestConfig.
	Carry int
	// Discovery, if not 0, is how long it takes at most until everybody hears of a
	// death or return; it takes half of that at least.
	Discovery time.Duration
	// Overhead is the time between two sends of a node; not at Stacks.
	Overhead time.Duration
	// Stacks runs agents above portals and LNet instead of bare machines.
	Stacks bool
	// View, if not nil, is discovery at Stacks, instead of the oracle.
	View func(*simlnd.Host, *lnetsim.Stack) (scoll.View, error)
	// Log, if not nil, keeps the history of the run.
	Log *history.Log
	// Bare leaves contents out of the digest, for speed.
	Bare bool
	// Record takes a recording of bare machines.
	Record io.Writer
	// Tap, if not nil, is told of each message of bare machines that is sent.
	Tap func(from, to sim.NodeID, kind Kind)
}

// Net is a network of nodes with collectives. What is done to nodes has to be
// done through its methods.
type Net struct {
	sim.Control // the network, with discovery that hears what is done

	cfg      Config
	fabric   *simlnd.Fabric // at Stacks
	programs []*program     // by node, of the latest life; nil before the first
	stacks   []*stack
	services []behaviour
	groups   groups
	oracle   oracle
	ledger   ledger
	recorder *sim.Recorder[*message]

	out   engine.Output // of the latest step
	queue []engine.Input
	err   error // of a boot
}

// New makes a network. Its nodes start when it runs.
func New(cfg Config) (*Net, error) {
	n := prepare(cfg)
	var err error
	if cfg.Stacks {
		err = n.newFabric()
	} else {
		err = n.newNetwork()
	}
	if err == nil && cfg.Log != nil {
		n.Control = cfg.Log.Control(n.Control)
	}
	return n, err
}

// prepare makes a Net without a network.
func prepare(cfg Config) *Net {
	n := &Net{cfg: cfg, programs: make([]*program, cfg.Nodes), services: make([]behaviour, cfg.Nodes)}
	if cfg.Scoll.RTT <= 0 {
		n.cfg.Scoll.RTT = engine.DefaultRTT
	}
	n.oracle.init(n)
	n.ledger.init(n)
	n.groups.init(cfg.Nodes)
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

// failed keeps the first error of a boot.
func (n *Net) failed(err error) {
	if n.err == nil {
		n.err = err
	}
}

// began notes that a life begins.
func (n *Net) began(life sim.Life) {
	n.oracle.started(life)
	if n.cfg.Log != nil {
		n.cfg.Log.Append(history.Record{
			At: n.Now(), Node: life.Node, Life: uint32(life.Number), Kind: history.Start, Subject: history.Nobody,
		})
	}
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
	n.ledger.rootGone(id)
}

// Pause implements sim.Control.
func (n *Net) Pause(id sim.NodeID) {
	n.ledger.excuse(id)
	n.Control.Pause(id)
}

// SetSkew implements sim.Control.
func (n *Net) SetSkew(id sim.NodeID, ppm int64) {
	n.ledger.excuse(id)
	n.Control.SetSkew(id, ppm)
}

// SetSlow implements sim.Control.
func (n *Net) SetSlow(id sim.NodeID, extra time.Duration) {
	n.ledger.excuse(id)
	n.Control.SetSlow(id, extra)
}

var _ sim.Control = (*Net)(nil)
