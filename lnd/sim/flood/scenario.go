package flood

import (
	"fmt"
	"io"
	"math/bits"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
)

// Protocol makes flood available to scenarios.
var Protocol = &scenario.Protocol{
	Name:    "flood",
	Summary: "rumours that everybody shall hear",
	Options: []scenario.Option{
		{Name: "fanout", Default: "3", Kind: scenario.Count, Most: 1000, Doc: "to how many others a node passes on what is new to it"},
		{Name: "again", Default: "0s", Kind: scenario.Duration, Doc: "how often a node tells another one all it knows; 0s never"},
		{Name: "size", Default: "64", Kind: scenario.Count, Least: 8, Most: 1 << 20, Doc: "bytes of a message"},
		{Name: "bug", Default: "none", Kind: scenario.Choice, Choices: []string{"none", "forget-on-pause"}, Doc: "a bug, to see it found"},
	},
	Verbs: []scenario.Verb{
		{Name: "tell", Args: []scenario.Arg{rumour}, Doc: "the node hears a rumour and passes it on"},
	},
	Conditions: conditions.Declared(),
	Series: []scenario.Quantity{
		{Name: "heard", Unit: "nodes", Doc: "nodes that are up and know every rumour told so far"},
	},
	Levels:       []scenario.Level{scenario.Machines, scenario.Stacks},
	BytesPerNode: bytesPerNode,
	New:          func(s *scenario.Setup) (scenario.Instance, error) { return newNetwork(s) },
	Replay: func(s *scenario.Setup, r io.Reader) (sim.Replayed, error) {
		return kit.Replay(r, s.Nodes, prepare(s).machines())
	},
}

var conditions = kit.Conditions[*network]{
	kit.Ask("heard", "these nodes, where they are up, have heard a rumour; without a number every rumour told so far",
		(*network).heard, nodesArg, optional(rumour)),
	kit.Ask("unheard", "none of these nodes, where they are up, has heard a rumour",
		(*network).unheard, nodesArg, rumour),
	kit.Ask("heard-once", "no node has heard a rumour twice in one incarnation",
		(*network).heardOnce),
	kit.Ask("remembered", "every node knows all that it heard in its incarnation",
		(*network).remembered),
}

// bytesPerNode estimates the memory of a node. All messages that a node sends at once may be
// in flight. A stack takes much more than its machine, and has connections to the nodes that
// it has sent to.
func bytesPerNode(level scenario.Level, nodes int, o scenario.Values) int64 {
	if level == scenario.Machines {
		return 64 + sim.Footprint[rumours](0, max(o.Int("fanout")-1, 0)) - sim.Footprint[rumours](0, 0)
	}
	return 24<<10 + 2*2400*int64(min(o.Int("fanout")+8, nodes))
}

// Arguments of the conditions and verbs.
var (
	nodesArg = scenario.Arg{Name: "nodes", Kind: scenario.NodeSet}
	rumour   = scenario.Arg{Name: "rumour", Kind: scenario.Count, Least: 1, Most: maxRumours}
)

func optional(a scenario.Arg) scenario.Arg {
	a.Optional = true
	return a
}

// network is a network of nodes, and what they have reported.
type network struct {
	kit.Base
	cfg    config
	told   []rumours // by node: rumours that its present incarnation knows
	twice  int       // number of times that an incarnation reported a rumour which it knew before
	all    rumours   // rumours that any node has heard
	nodes  []*node
	latest time.Duration // when a rumour was last heard
}

func newNetwork(s *scenario.Setup) (*network, error) {
	n := prepare(s)
	if s.Level == scenario.Stacks {
		return n, n.StartStacks(&s.Network, n.stacks())
	}
	return n, kit.Start(&n.Base, &s.Network, n.machines(), s.Record)
}

// prepare makes a network whose nodes are not started.
func prepare(s *scenario.Setup) *network {
	return &network{
		told: make([]rumours, s.Nodes), nodes: make([]*node, s.Nodes),
		cfg: config{
			nodes: s.Nodes, fanout: s.Options.Int("fanout"), size: s.Options.Int("size"),
			again: s.Options.Duration("again"), forgets: s.Options["bug"] == "forget-on-pause",
		},
	}
}

// machines describes the machines to the simulation kit.
func (n *network) machines() kit.Machines[rumours] {
	return kit.Machines[rumours]{
		Boot: func(incarnation sim.Incarnation, kept sim.Program[rumours]) sim.Program[rumours] {
			old, _ := kept.(*node)
			return n.begin(incarnation, old)
		},
		OnEvent: n.event, Hash: hash, Codec: codec{},
	}
}

// begin begins an incarnation. A node that keeps its state keeps its rumours.
func (n *network) begin(incarnation sim.Incarnation, old *node) *node {
	k := &node{cfg: &n.cfg}
	k.pcg.Seed(incarnation.Seed, 0)
	if old != nil {
		k.knows = old.knows
	}
	n.nodes[incarnation.Node], n.told[incarnation.Node] = k, k.knows
	return k
}

func (n *network) event(at time.Duration, id sim.NodeID, ev sim.Event) {
	r := rumours(1) << (ev.Value - 1)
	if n.told[id]&r != 0 {
		n.twice++
	}
	n.told[id] |= r
	n.all |= r
	n.latest = at
}

// Check implements [scenario.Instance].
func (n *network) Check(condition string, args scenario.Args) (bool, string) {
	return conditions.Check(n, condition, args)
}

func (n *network) heardOnce(scenario.Args) (bool, string) {
	return n.twice == 0, fmt.Sprintf("%d rumours were heard twice", n.twice)
}

func (n *network) remembered(scenario.Args) (bool, string) {
	for id, k := range n.nodes {
		if k != nil && n.Up(sim.NodeID(id)) && n.told[id]&^k.knows != 0 {
			return false, fmt.Sprintf("node %v has forgotten rumour %d", sim.NodeID(id), first(n.told[id]&^k.knows))
		}
	}
	return true, ""
}

func (n *network) heard(args scenario.Args) (bool, string) {
	want := n.all
	if len(args) > 1 {
		want = 1 << (args.Int(1) - 1)
	}
	if want == 0 {
		return false, "no rumour was told"
	}
	for id := range args.Nodes(0).All(len(n.nodes)) {
		if missing := want &^ n.knows(id); missing != 0 && n.Up(id) {
			return false, fmt.Sprintf("node %v has not heard rumour %d", id, first(missing))
		}
	}
	return true, ""
}

func (n *network) unheard(args scenario.Args) (bool, string) {
	for id := range args.Nodes(0).All(len(n.nodes)) {
		if n.knows(id)>>(args.Int(1)-1)&1 != 0 && n.Up(id) {
			return false, fmt.Sprintf("node %v has heard rumour %d", id, args.Int(1))
		}
	}
	return true, ""
}

func (n *network) knows(id sim.NodeID) rumours {
	if k := n.nodes[id]; k != nil {
		return k.knows
	}
	return 0
}

func first(r rumours) int { return bits.TrailingZeros64(uint64(r)) + 1 }

// Sample implements [scenario.Instance].
func (n *network) Sample() []float64 {
	count := 0
	for id := range n.nodes {
		if k := n.knows(sim.NodeID(id)); k != 0 && n.all&^k == 0 && n.Up(sim.NodeID(id)) {
			count++
		}
	}
	return []float64{float64(count)}
}

// Measures implements [scenario.Instance].
func (n *network) Measures() []scenario.Measure {
	return []scenario.Measure{
		{Name: "heard", Unit: "nodes", Value: n.Sample()[0]},
		{Name: "last heard at", Unit: "s", Value: n.latest.Seconds()},
	}
}
