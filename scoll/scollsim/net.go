package scollsim

import (
	"cmp"
	"io"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/lnetsim"
	"ulnet/scoll"
	"ulnet/scoll/engine"
)

// service is the number of the service on all nodes.
const service scoll.ServiceID = 1

// Config configures a [Net]. The zero value of a field means its default.
type Config struct {
	scenario.Network

	// Scoll is the configuration of all nodes, apart from Self, Incarnation and Watched, which are
	// each node's own.
	Scoll scoll.Config
	// Tree is the type of tree of all groups.
	Tree scoll.Tree
	// Segment, if not 0, is the size of segments in which bulk data is pipelined, in bytes.
	Segment uint32
	// Carry is the setting for all broadcasts, see scoll.RequestConfig.
	Carry int
	// Discovery, if not 0, is the longest time until all nodes learn of a death or return. The
	// shortest time is half of it.
	Discovery time.Duration
	// Errs makes discovery err: nodes that are paused or cut off count as dead, see erring.
	Errs bool
	// Overhead is the time between two sends of a node; it has no effect if Stacks is set.
	Overhead time.Duration
	// Stacks runs agents above portals and LNet instead of bare machines.
	Stacks bool
	// View, if not nil, makes the discovery that agents use with Stacks, instead of the oracle.
	View func(*simlnd.Host, *lnetsim.Stack) (scoll.View, error)
	// Log, if not nil, keeps the history of the run.
	Log *history.Log
	// Bare leaves the contents of messages out of the digest of the run, for speed.
	Bare bool
	// Record, if not nil, gets a recording of bare machines.
	Record io.Writer
	// Tap, if not nil, is called for each message that a bare machine sends.
	Tap func(from, to sim.NodeID, kind Kind)
	// Ran, if not nil, is called when an incarnation of a node begins to run a broadcast.
	Ran func(b *Broadcast, by sim.Incarnation)
}

// Net is a network of nodes with collectives. Faults must be injected through its methods.
type Net struct {
	kit.Base

	cfg          Config
	incarnations []incarnation // latest incarnation of each node; nil before its first
	services     []behaviour
	groups       groups
	oracle       oracle
	faults       faults
	ledger       ledger

	out   engine.Output // output of the latest step of any machine
	queue []engine.Input
}

// incarnation is a bare machine or an agent on a node.
type incarnation interface {
	groups() []scoll.GroupState
	stats() scoll.Stats
	kept() (all, stuck int) // how many requests have not ended, and for how many of these the service does not return

	// The verbs of scenarios.
	create(g *namedGroup, now bool)
	destroy(g *namedGroup)
	send(g *namedGroup, b *Broadcast) scoll.Status // OK: the broadcast is under way
	abort()
}

// New makes a network. Its nodes start when it runs.
func New(cfg Config) (*Net, error) {
	n := prepare(cfg)
	n.Log = cfg.Log
	if cfg.Stacks {
		return n, n.StartStacks(&n.cfg.Network, kit.Stacks{Boot: n.bootStack})
	}
	return n, kit.Start(&n.Base, &n.cfg.Network, n.machines(), cfg.Record)
}

// prepare returns a Net that is not yet attached to a simulated network.
func prepare(cfg Config) *Net {
	cfg.Scoll.RTT = cmp.Or(cfg.Scoll.RTT, engine.DefaultRTT)
	cfg.Scoll.Guard = cmp.Or(cfg.Scoll.Guard, max(cfg.Scoll.RTT/4, 5*time.Millisecond))
	n := &Net{
		cfg: cfg, incarnations: make([]incarnation, cfg.Nodes), services: make([]behaviour, cfg.Nodes),
		groups: groups{nodes: cfg.Nodes, byName: make(map[string]*namedGroup), memberships: make(map[string]*scoll.Membership)},
	}
	n.Around = n.happens
	n.oracle.init(n)
	n.faults.init(n)
	n.ledger.net = n
	return n
}

// machines describes the bare machines to the simulation kit.
func (n *Net) machines() kit.Machines[*message] {
	return kit.Machines[*message]{Boot: n.boot, Codec: codec{}, Hash: hash, Bare: n.cfg.Bare}
}

// began records that an incarnation begins.
func (n *Net) began(k incarnation, begins sim.Incarnation) {
	n.incarnations[begins.Node] = k
	if n.Control != nil {
		n.oracle.started(begins)
		n.faults.began(begins.Node)
		n.Begins(begins)
	}
}

// happens tells the oracle and the ledger of faults.
func (n *Net) happens(a *sim.Act, do func()) {
	n.faults.happens(a)
	switch a.Verb {
	case sim.Kill, sim.Crash:
		if a.Changes {
			n.oracle.ended(a.Node)
			n.ledger.rootGone(a.Node)
		}
	case sim.Pause, sim.Skew, sim.Slow:
		n.ledger.excuse(a.Node)
	case sim.Resume:
		n.oracle.errs.Resumed(a.Node)
	}
	do()
	n.oracle.errs.Changed()
}
