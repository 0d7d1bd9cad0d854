package zonesim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	"ulnet/gossip/zone"
	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
)

// Config configures a [Net]. The zero value of a field means its default.
type Config struct {
	scenario.Network

	// Supervisors is how many of the first nodes form the management zone; 0: there is none.
	Supervisors int
	// Zones is the number of base zones that the other nodes form. Default 1.
	Zones int
	// Stub, if not 0, is the number of members of a base zone, only one of which is a node.
	Stub int
	// OneName gives all base zones the name of the first.
	OneName bool
	// Sever is the number of links between supervisors and delegates that lose all messages from
	// SeverAt on.
	Sever   int
	SeverAt time.Duration // when the faults of Sever begin
	// Bootstrap is the number of bootstrap nodes of each node, which are in its own zone. Default
	// 3.
	Bootstrap int
	// Zone configures all nodes. Net ignores its ids and zone names, and those settings that
	// have a field above.
	Zone zone.Config
	// Stacks runs agents above portals and LNet instead of bare machines. Stub must then be 0.
	Stacks bool
	// Check checks the invariants of every machine from time to time. It also checks that in the
	// events of each node every member joins and leaves in turn, and that the list of members from
	// these events equals the node's view.
	Check bool
	// Tell is called for all events of nodes.
	Tell func(at time.Duration, node sim.NodeID, e *engine.Event)
}

// Net is a network of zones. Its methods record what is done to it as the ground truth, with
// which the events of the nodes are compared.
type Net struct {
	kit.Base

	cfg          Config
	filled       engine.Config
	groups       []*group // the management zone first, if there is one
	supervisors  sim.NodeSet
	incarnations []incarnation // latest incarnation of each node; nil before its first
	incs         []uint64      // number of each node's latest incarnation
	faults       faults
	outcome      Outcome
	beats        uint64 // bytes of heartbeats that machines have sent
	others       uint64 // bytes of other messages

	out engine.Output // output of the latest step of any machine
	msg wire.Message

	// severed has the pairs of a supervisor and a delegate whose link fell silent in both
	// directions (MS-100); nil before that. A silent link is no excuse for the removal of a
	// node.
	severed map[[2]sim.NodeID]bool
}

// New makes a network. Its nodes start when it runs. The error names settings that contradict
// each other, or is one of the simulator.
func New(cfg Config) (*Net, error) {
	cfg.Zones, cfg.Bootstrap = max(cfg.Zones, 1), cmp.Or(cfg.Bootstrap, 3)
	n := &Net{cfg: cfg, incarnations: make([]incarnation, cfg.Nodes), incs: make([]uint64, cfg.Nodes), supervisors: sim.NodeRange(0, sim.NodeID(cfg.Supervisors-1))}
	if err := n.divide(); err != nil {
		return nil, err
	}
	filled := cfg.Zone
	filled.Zone, filled.Self = "check", n.groups[0].ids[0]
	var err error
	if n.filled, err = filled.Engine().Filled(); err != nil {
		return nil, err
	}
	n.faults.init(cfg.Nodes, n.Now, 2*n.filled.Timeout)
	n.Around = n.happens
	if cfg.Stacks {
		return n, n.StartStacks(&cfg.Network, kit.Stacks{Boot: n.bootStack})
	}
	return n, kit.Start(&n.Base, &cfg.Network, kit.Machines[message]{Boot: n.boot, Hash: hash}, nil)
}

// happens records what is done to nodes and links.
func (n *Net) happens(a *sim.Act, do func()) {
	t := &n.faults
	switch {
	case a.Ends():
		t.end(a.Node, n.incs[a.Node])
	case a.Verb == sim.Pause && a.Changes:
		t.pause(a.Node)
	case a.Verb == sim.Resume && a.Changes:
		t.resume(a.Node)
	case a.Verb == sim.Slow:
		t.slow(a.Node, a.Extra > 0)
	case a.Verb == sim.Partition:
		t.mend()
		t.Partition(n.cfg.Nodes, a.Sets)
	case a.Verb == sim.Cut:
		t.Cut(a.From, a.To)
	case a.Verb == sim.Heal:
		t.mend()
		t.Heal()
	}
	do()
}

// divide makes the groups.
func (n *Net) divide() error {
	cfg := &n.cfg
	base := cfg.Nodes - cfg.Supervisors
	switch {
	case base < cfg.Zones:
		return fmt.Errorf("zonesim: %d nodes, of which %d are supervisors, do not make %d zones", cfg.Nodes, cfg.Supervisors, cfg.Zones)
	case base%cfg.Zones != 0:
		return fmt.Errorf("zonesim: %d nodes do not make %d zones of equal size", base, cfg.Zones)
	case cfg.Stub != 0 && cfg.Stacks:
		return fmt.Errorf("zonesim: a stub is a machine: run it on machines")
	case cfg.Stub != 0 && (cfg.Stub < 8 || base != cfg.Zones || cfg.Supervisors == 0):
		return fmt.Errorf("zonesim: a stub stands for 8 members at least, is one node for each zone, and needs supervisors")
	}
	if cfg.Supervisors > 0 {
		g, err := newGroup("management", 0, cfg.Supervisors, 0)
		if err != nil {
			return err
		}
		n.groups = append(n.groups, g)
	}
	size := base / cfg.Zones
	for z := range cfg.Zones {
		first := sim.NodeID(cfg.Supervisors + z*size)
		name := fmt.Sprintf("zone%d", z+1)
		if cfg.OneName {
			name = "zone1"
		}
		stub := 0
		if cfg.Stub > 0 {
			stub = cfg.Nodes + z*cfg.Stub
		}
		g, err := newGroup(name, first, max(size, cfg.Stub), stub)
		if err != nil {
			return err
		}
		n.groups = append(n.groups, g)
	}
	return nil
}

// group returns the zone of a node.
func (n *Net) group(id sim.NodeID) *group {
	s := n.cfg.Supervisors
	if int(id) < s {
		return n.groups[0]
	}
	size := (n.cfg.Nodes - s) / n.cfg.Zones
	return n.groups[min(s, 1)+(int(id)-s)/size]
}

// bases returns the base zones.
func (n *Net) bases() []*group { return n.groups[min(n.cfg.Supervisors, 1):] }

// draw returns count random members of a group. It never returns the node in the parameter but.
func draw(r *rand.Rand, g *group, but sim.NodeID, count int) (list []wire.ID) {
	others := g.count
	if g.has(but) {
		others--
	}
	for range min(count, others) {
		k := r.IntN(others)
		if g.has(but) && k >= int(but-g.first) {
			k++
		}
		list = append(list, g.ids[k])
	}
	return list
}
