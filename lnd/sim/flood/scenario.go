package flood

import (
	"fmt"
	"math/bits"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnet/machine/record"
)

// Protocol is flood for scenarios.
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
	Conditions: []scenario.Condition{
		{Name: "heard", Args: []scenario.Arg{{Name: "nodes", Kind: scenario.NodeSet}, optional(rumour)}, Doc: "these nodes, where they are up, have heard a rumour; without a number every rumour told so far"},
		{Name: "unheard", Args: []scenario.Arg{{Name: "nodes", Kind: scenario.NodeSet}, rumour}, Doc: "none of these nodes, where they are up, has heard a rumour"},
		{Name: "heard-once", Doc: "no node has heard a rumour twice in one life"},
		{Name: "remembered", Doc: "every node knows all that it heard in its life"},
	},
	Series: []scenario.Quantity{
		{Name: "heard", Unit: "nodes", Doc: "nodes that are up and know every rumour told so far"},
	},
	Levels:       []scenario.Level{scenario.Machines, scenario.Stacks},
	BytesPerNode: bytesPerNode,
	New:          newInstance,
	Replay:       replay,
}

// bytesPerNode: all that nodes tell those they draw may be on its way at once.
// A stack is much more than its machine, and has a connection to whom it has
// told something.
func bytesPerNode(level scenario.Level, nodes int, o scenario.Values) int64 {
	if level == scenario.Machines {
		return 64 + sim.Footprint[rumours](0, max(o.Int("fanout")-1, 0)) - sim.Footprint[rumours](0, 0)
	}
	return 24<<10 + 2*2400*int64(min(o.Int("fanout")+8, nodes))
}

// rumour is the argument that names one.
var rumour = scenario.Arg{Name: "rumour", Kind: scenario.Count, Least: 1, Most: Rumours}

func optional(a scenario.Arg) scenario.Arg {
	a.Optional = true
	return a
}

// instance is a network of nodes and what they have told it.
type instance struct {
	network sim.Control
	record  *sim.Recorder[rumours] // nil if nobody asked for it
	told    []rumours              // heard by each node in its life
	twice   int                    // rumours heard again in one life
	all     rumours                // heard by anybody
	nodes   []*node
	latest  time.Duration // when the last rumour was heard
}

func newInstance(s *scenario.Setup) (scenario.Instance, error) {
	in, shared := prepare(s)
	if s.Level == scenario.Stacks {
		return in, in.stacks(s, shared)
	}
	return in, in.machines(s, shared)
}

// prepare makes an instance that has no network yet.
func prepare(s *scenario.Setup) (*instance, *config) {
	return &instance{told: make([]rumours, s.Nodes), nodes: make([]*node, s.Nodes)}, &config{
		nodes: s.Nodes, fanout: s.Options.Int("fanout"), size: s.Options.Int("size"),
		again: s.Options.Duration("again"), forgets: s.Options["bug"] == "forget-on-pause",
	}
}

// machines makes the network of a run at level machines.
func (in *instance) machines(s *scenario.Setup, shared *config) (err error) {
	cfg := scenario.Config[rumours](s)
	cfg.Boot = in.boot(shared)
	cfg.OnEvent = in.event
	cfg.Hash = hash
	if s.Record != nil {
		in.record = sim.NewRecorder(s.Record, codec{}, record.Digests, nil)
		cfg.Recorder = in.record
	}
	in.network, err = sim.New(cfg)
	return err
}

// boot returns what begins a life on a node.
func (in *instance) boot(shared *config) func(sim.Life, sim.Program[rumours]) sim.Program[rumours] {
	return func(life sim.Life, kept sim.Program[rumours]) sim.Program[rumours] {
		if int(life.Node) >= shared.nodes {
			return nil // a damaged recording
		}
		old, _ := kept.(*node)
		return in.begin(shared, life, old)
	}
}

// begin begins a life. What a node that keeps its state knew, it still knows.
func (in *instance) begin(shared *config, life sim.Life, old *node) *node {
	n := &node{cfg: shared}
	n.pcg.Seed(life.Seed, 0)
	if old != nil {
		n.knows = old.knows
	}
	in.nodes[life.Node], in.told[life.Node] = n, n.knows
	return n
}

func (in *instance) event(at time.Duration, id sim.NodeID, ev sim.Event) {
	r := rumours(1) << (ev.Value - 1)
	if in.told[id]&r != 0 {
		in.twice++
	}
	in.told[id] |= r
	in.all |= r
	in.latest = at
}

// Control implements [scenario.Instance].
func (in *instance) Control() sim.Control { return in.network }

// Check implements [scenario.Instance].
func (in *instance) Check(condition string, args scenario.Args) (bool, string) {
	switch condition {
	case "heard":
		return in.heard(args)
	case "unheard":
		return in.unheard(args)
	case "heard-once":
		return in.twice == 0, fmt.Sprintf("%d rumours were heard twice", in.twice)
	}
	for id, n := range in.nodes {
		if n != nil && in.network.Up(sim.NodeID(id)) && in.told[id]&^n.knows != 0 {
			return false, fmt.Sprintf("node %v has forgotten rumour %d", sim.NodeID(id), first(in.told[id]&^n.knows))
		}
	}
	return true, ""
}

func (in *instance) heard(args scenario.Args) (bool, string) {
	want := in.all
	if len(args) > 1 {
		want = 1 << (args.Int(1) - 1)
	}
	if want == 0 {
		return false, "no rumour was told"
	}
	for id := range args.Nodes(0).All(len(in.nodes)) {
		if missing := want &^ in.knows(id); missing != 0 && in.network.Up(id) {
			return false, fmt.Sprintf("node %v has not heard rumour %d", id, first(missing))
		}
	}
	return true, ""
}

func (in *instance) unheard(args scenario.Args) (bool, string) {
	for id := range args.Nodes(0).All(len(in.nodes)) {
		if in.knows(id)>>(args.Int(1)-1)&1 != 0 && in.network.Up(id) {
			return false, fmt.Sprintf("node %v has heard rumour %d", id, args.Int(1))
		}
	}
	return true, ""
}

func (in *instance) knows(id sim.NodeID) rumours {
	if n := in.nodes[id]; n != nil {
		return n.knows
	}
	return 0
}

func first(r rumours) int { return bits.TrailingZeros64(uint64(r)) + 1 }

// Sample implements [scenario.Instance].
func (in *instance) Sample() []float64 {
	count := 0
	for id := range in.nodes {
		if k := in.knows(sim.NodeID(id)); k != 0 && in.all&^k == 0 && in.network.Up(sim.NodeID(id)) {
			count++
		}
	}
	return []float64{float64(count)}
}

// Measures implements [scenario.Instance].
func (in *instance) Measures() []scenario.Measure {
	return []scenario.Measure{
		{Name: "heard", Unit: "nodes", Value: in.Sample()[0]},
		{Name: "last heard at", Unit: "s", Value: in.latest.Seconds()},
	}
}
