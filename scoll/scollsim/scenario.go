package scollsim

import (
	"cmp"
	"io"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/scoll"
	"ulnet/scoll/tree"
)

// Protocol makes collectives available to scenarios.
var Protocol = &scenario.Protocol{
	Name:    "scoll",
	Summary: "server collectives: one request to all over a tree, one answer",
	Options: []scenario.Option{
		{Name: "tree", Default: "k-nomial", Kind: scenario.Choice, Choices: []string{"k-nomial", "k-ary", "flat"}, Doc: "the tree of all groups"},
		{Name: "k", Default: "2", Kind: scenario.Count, Least: 1, Most: tree.MaxK, Doc: "its K; 2 at least for k-nomial"},
		{Name: "rtt", Default: "10ms", Kind: scenario.Duration, Doc: "what nodes think the round trip time is"},
		{Name: "guard", Default: "0s", Kind: scenario.Duration, Doc: "what a level of the tree may take beyond that; 0s: rtt/4, at least 5ms"},
		{Name: "discovery", Default: "0s", Kind: scenario.Duration, Doc: "nodes hear of a death or return within this time, half of it at the soonest; 0s: never, and all are thought alive"},
		{Name: "discovery-errs", Default: "off", Kind: scenario.Switch, Doc: "discovery also takes nodes for dead that are paused, or from which no path leads to the observer, as gossip does"},
		{Name: "propagation", Default: "1s", Kind: scenario.Duration, Doc: "time between attempts to reach the live members"},
		{Name: "places", Default: "0", Kind: scenario.Count, Most: 1 << 20, Doc: "how many requests of others a node runs at a time, it holds further ones; 0: 1024"},
		{Name: "overhead", Default: "0s", Kind: scenario.Duration, Doc: "time between two sends of a node; at the level of machines"},
		{Name: "segment", Default: "0", Kind: scenario.Count, Most: 1 << 30, Doc: "bulk data are forwarded in segments of so many bytes, at least 4096; 0: when all of them are there"},
		{Name: "carry", Default: "4096", Kind: scenario.Count, Most: scoll.MaxCarry, Doc: "bytes of answers that members pass on for services that do not reply, in a message; 0: none"},
		{Name: "history", Default: "off", Kind: scenario.Switch, Doc: "keep all that became of broadcasts, for the condition history"},
	},
	Verbs: []scenario.Verb{
		{Name: "create", Args: []scenario.Arg{
			groupArg,
			{Name: "kind", Kind: scenario.Choice, Choices: []string{kindDelayed, kindImmediate, kindOOB}},
			{Name: "nodes", Kind: scenario.NodeSet, Optional: true},
		}, Doc: "the node makes a group, delayed, immediate or oob, of all nodes or these, in the order of their numbers"},
		{Name: "broadcast", Args: []scenario.Arg{
			groupArg,
			{Name: "mode", Kind: scenario.Choice, Choices: []string{modeAll, modeLive, modeLast, modeLiveLast}, Optional: true},
			{Name: "processing", Kind: scenario.Duration, Optional: true},
			{Name: "bulk", Kind: scenario.Count, Most: 1 << 30, Optional: true},
			{Name: "payload", Kind: scenario.Count, Most: scoll.MaxMessage, Optional: true},
		}, Doc: "the node sends: mode all, live (to those), last (for the last time) or live-last (both); services may take so long; bytes of bulk data and of payload"},
		{Name: "destroy", Args: []scenario.Arg{groupArg}, Doc: "the node destroys a group that it made"},
		{Name: "list", Args: []scenario.Arg{groupArg, nodesArg}, Doc: "all nodes map an out-of-band group to these nodes from now on"},
		{Name: "abort", Doc: "the node ends what it waits for"},
		{Name: "service", Args: []scenario.Arg{
			{Name: "kind", Kind: scenario.Choice, Choices: serviceKinds}, {Name: "time", Kind: scenario.Duration, Optional: true},
		}, Doc: "from now on, in later incarnations too, the service of the node works, is mute (never replies), slow (takes so long), rejects requests, fails to run them, is stuck in them, aborts them, replies for those below it alone, replies with parts but no last one, or wants to send a large reply"},
	},
	Conditions:   conditions.Declared(),
	Series:       series,
	Levels:       []scenario.Level{scenario.Machines, scenario.Stacks},
	BytesPerNode: bytesPerNode,
	New:          func(s *scenario.Setup) (scenario.Instance, error) { return New(configOf(s)) },
	Replay: func(s *scenario.Setup, r io.Reader) (sim.Replayed, error) {
		return kit.Replay(r, s.Nodes, prepare(configOf(s)).machines())
	},
}

// bytesPerNode returns the memory of a node in bytes: of a machine with some groups, or of a
// stack, which is mostly its 64 buffers.
func bytesPerNode(level scenario.Level, nodes int, o scenario.Values) int64 {
	need := int64(8 << 10)
	if o.Duration("discovery") > 0 {
		need += 160 * int64(nodes)
	}
	if level == scenario.Stacks {
		need += 400<<10 + 3400*int64(min(nodes, 40))
	}
	return need
}

// configOf returns the configuration of a scenario.
func configOf(s *scenario.Setup) Config {
	o := s.Options
	cfg := Config{
		Network: s.Network,
		Scoll: scoll.Config{
			RTT: o.Duration("rtt"), Guard: o.Duration("guard"), Propagation: o.Duration("propagation"),
			MaxActive: o.Int("places"),
		},
		Carry:     cmp.Or(o.Int("carry"), -1),
		Tree:      treeOf(o["tree"], o.Int("k")),
		Discovery: o.Duration("discovery"), Errs: o.On("discovery-errs"), Overhead: o.Duration("overhead"), Segment: uint32(o.Int("segment")), Stacks: s.Level == scenario.Stacks,
		Record: s.Record,
	}
	if o.On("history") {
		cfg.Log = history.New()
	}
	return cfg
}

func treeOf(kind string, k int) scoll.Tree {
	switch kind {
	case "k-ary":
		return scoll.Tree{Type: scoll.KAry, K: uint32(k)}
	case "flat":
		return scoll.Tree{Type: scoll.KAry, K: tree.MaxK}
	}
	return scoll.Tree{Type: scoll.KNomial, K: uint32(max(k, 2))}
}
