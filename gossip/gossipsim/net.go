package gossipsim

import (
	"cmp"
	"io"
	"time"

	"ulnet/gossip"
	"ulnet/gossip/engine"
	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
)

// Config configures a [Net]. The zero value of a field means its default.
type Config struct {
	scenario.Network

	// Gossip is the configuration of all nodes. Each incarnation has a Seed of its own.
	Gossip gossip.Config
	// Columns, if not 0, is the number of participants that bare machines track: the first ones
	// of the list. Stacks track all.
	Columns int
	// ColdStart says which incarnations send at once, without the silence after a start. If it
	// is nil, these are the first incarnation of each node, provided that Gossip.ColdStart is
	// set.
	ColdStart func(sim.Incarnation) bool
	// Members is how many nodes the first list has; 0: all.
	Members int
	// Stacks runs agents above portals and LNet instead of bare machines.
	Stacks bool
	// Log, if not nil, keeps the history of the run.
	Log *history.Log
	// Tell is called for all events of bare machines. Stacks do not call it.
	Tell func(at time.Duration, node sim.NodeID, e *engine.Event)
	// Bare makes a run faster: the digest of the run leaves out the contents of messages, and
	// no events are checked.
	Bare bool
	// Record, if not nil, gets a recording of the machines.
	Record io.Writer
}

// Net is a network of nodes that gossip. Its methods record what is done to it as the
// ground truth, with which the events of the nodes are compared.
type Net struct {
	kit.Base

	cfg          Config
	limits       engine.Limits
	lists        lists
	incarnations []incarnation // latest incarnation of each node; nil before its first
	faults       faults
	outcome      Outcome

	out  engine.Output // output of the latest step of any machine
	pool pool
}

// incarnation is the bare machine or the agent of one incarnation of a node.
type incarnation interface {
	view() view
	stopped() bool // the node has stopped taking part in gossip
	silent() bool  // the silence after the node's start lasts
	unsure() bool  // the node was paused, and reports no changes yet
	quorum() bool
	clock() uint64
	stats() engine.Stats
}

// New makes a network. Its nodes start when it runs. The error is a *gossip.Error or one of the
// simulator.
func New(cfg Config) (*Net, error) {
	n, err := prepare(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Stacks {
		err = n.StartStacks(&cfg.Network, kit.Stacks{Boot: n.bootStack, OnEvent: n.event})
	} else {
		n.pool.off = doubles(cfg.Topology)
		err = kit.Start(&n.Base, &cfg.Network, n.machines(), cfg.Record)
	}
	return n, err
}

// prepare makes a Net without the network of the simulator.
func prepare(cfg Config) (*Net, error) {
	cfg.Members = cmp.Or(cfg.Members, cfg.Nodes)
	n := &Net{cfg: cfg, incarnations: make([]incarnation, cfg.Nodes), Base: kit.Base{Log: cfg.Log}}
	n.Around = n.happens
	if err := n.lists.init(cfg.Nodes, cfg.Members); err != nil {
		return nil, err
	}
	var err error
	n.limits, err = cfg.Gossip.Engine().Limits(cfg.Members)
	n.faults.init(cfg.Nodes, n.grace(), n.Now)
	return n, err
}

// machines describes the bare machines to the simulation kit.
func (n *Net) machines() kit.Machines[*kit.Message] {
	return kit.Machines[*kit.Message]{Boot: n.boot, OnEvent: n.event, Codec: kit.Codec(reply), Hash: kit.Hash, Bare: n.cfg.Bare}
}

// doubles reports whether the links of a topology may duplicate messages.
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

// happens records what is done to nodes and links.
func (n *Net) happens(a *sim.Act, do func()) {
	t, now := &n.faults, n.Now()
	switch {
	case a.Ends():
		t.end(a.Node)
	case a.Verb == sim.Pause && a.Changes:
		t.pause(a.Node)
	case a.Verb == sim.Resume && a.Changes:
		t.resume(a.Node)
	case a.Verb == sim.Partition:
		t.links.partition(a.Sets, now)
	case a.Verb == sim.Cut:
		t.links.cut(a.From, a.To, now)
	case a.Verb == sim.Heal:
		t.links.heal(now)
	case a.Verb == sim.SetLink && a.Change.Fields&link.FieldDuplicate != 0:
		n.pool.off = true
	}
	do()
}

// began records that an incarnation begins.
func (n *Net) began(id sim.NodeID, k incarnation, begins sim.Incarnation, silent bool) {
	n.incarnations[id] = k
	n.faults.start(id, silent)
	n.Begins(begins)
}

// Limits returns the limits for the first list.
func (n *Net) Limits() engine.Limits { return n.limits }

// Cycles returns the time of k gossip cycles.
func (n *Net) Cycles(k int) time.Duration { return time.Duration(k) * n.cfg.Gossip.Interval }

// grace returns for how long after a fault its effects may be seen.
func (n *Net) grace() time.Duration { return n.Cycles(n.limits.Dead + n.limits.Resync) }
