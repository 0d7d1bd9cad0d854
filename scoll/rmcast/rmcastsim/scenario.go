package rmcastsim

import (
	"cmp"
	"io"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/scoll/rmcast"
	"ulnet/scoll/rmcast/engine"
	"ulnet/scoll/rmcast/wire"
)

// Protocol makes reliable multicast available to scenarios.
var Protocol = &scenario.Protocol{
	Name:    "rmcast",
	Summary: "reliable multicast: once to all, and the origin knows when all have it",
	Options: []scenario.Option{
		{Name: "managers", Default: "1", Kind: scenario.Count, Least: 1, Most: 16, Doc: "so many of the first nodes manage the group, one at a time"},
		{Name: "members", Default: "all", Kind: scenario.NodeSet, Doc: "nodes that join when they start"},
		{Name: "multicast", Default: "on", Kind: scenario.Switch, Doc: "off: the payload goes down the tree"},
		{Name: "loss", Default: "0%", Kind: scenario.Probability, Doc: "share of multicast datagrams that each receiver loses, besides what links lose"},
		{Name: "discovery", Default: "500ms", Kind: scenario.Duration, Doc: "managers hear of a death or return within this time, half of it at the soonest; 0s: never"},
		{Name: "gossip", Default: "off", Kind: scenario.Switch, Doc: "on: managers hear of deaths as gossip among all nodes reports them: also of nodes that are only cut off; it needs discovery"},
		{Name: "window", Default: "64", Kind: scenario.Count, Least: 1, Most: engine.MaxWindow, Doc: "datagrams of an origin in flight"},
		{Name: "fragment", Default: "2048", Kind: scenario.Count, Least: 1, Most: maxFragment, Doc: "bytes of payload in a datagram"},
		{Name: "capacity", Default: "0", Kind: scenario.Count, Most: 1 << 30, Doc: "bytes of datagrams that can wait at a receiver, as it says; at the level of machines; 0: enough"},
		{Name: "fifo", Default: "off", Kind: scenario.Switch, Doc: "the messages of an origin are delivered in order"},
		{Name: "rtt", Default: "1ms", Kind: scenario.Duration, Doc: "what nodes think the round trip time is, until they have measured it"},
		{Name: "member-timeout", Default: "30s", Kind: scenario.Duration, Doc: "a manager leaves a member behind that is silent for so long, if it hears most of the others; 0s: never"},
		{Name: "guard", Default: "5ms", Kind: scenario.Duration, Doc: "what a level of the tree may take beyond that, at least"},
	},
	Verbs: []scenario.Verb{
		{Name: "send", Args: []scenario.Arg{
			{Name: "count", Kind: scenario.Count, Least: 1, Most: 1 << 20, Optional: true},
			{Name: "size", Kind: scenario.Count, Least: leastSize, Most: 1 << 24, Optional: true},
		}, Doc: "the node sends so many messages, one by default, of so many bytes, 4 by default, as soon as there is room"},
		{Name: "join", Doc: "the node joins the group, also after later restarts"},
		{Name: "leave", Doc: "the node leaves the group"},
		{Name: "faults", Args: []scenario.Arg{
			{Name: "control", Kind: scenario.Probability}, {Name: "datagrams", Kind: scenario.Probability},
		}, Doc: "from now on, in this incarnation, the node discards on arrival a share of what members tell each other, and of datagrams by multicast"},
	},
	Conditions:   conditions.Declared(),
	Series:       series,
	Levels:       []scenario.Level{scenario.Machines, scenario.Stacks},
	BytesPerNode: bytesPerNode,
	New:          newInstance,
	Replay: func(s *scenario.Setup, r io.Reader) (sim.Replayed, error) {
		cfg, err := configOf(s)
		if err != nil {
			return sim.Replayed{}, err
		}
		return kit.Replay(r, s.Nodes, prepare(cfg).machines())
	},
}

// maxFragment is the largest fragment that fits into a datagram of simulated drivers.
const maxFragment = 8<<10 - wire.HeaderSize

// bytesPerNode estimates the memory of a node: mainly the windows of some origins, one of them
// half filled with payload, and the buffers of a stack.
func bytesPerNode(level scenario.Level, nodes int, o scenario.Values) int64 {
	origins := int64(min(nodes, 4) + 1) // windows of the origins heard, and the node's own
	window := int64(o.Int("window"))
	need := 16<<10 + 300*int64(nodes) + origins*window*400 + window*int64(o.Int("fragment"))/2
	if level == scenario.Stacks {
		need += 1 << 20
	}
	return need
}

func newInstance(s *scenario.Setup) (scenario.Instance, error) {
	cfg, err := configOf(s)
	if err != nil {
		return nil, err
	}
	return New(cfg)
}

// configOf returns the configuration of a scenario.
func configOf(s *scenario.Setup) (Config, error) {
	o := s.Options
	members, err := sim.ParseNodes(o["members"], s.Nodes)
	if err != nil {
		return Config{}, err
	}
	return Config{
		Network: s.Network,
		Rmcast: rmcast.GroupConfig{
			RTT: o.Duration("rtt"), Guard: o.Duration("guard"), FIFO: o.On("fifo"),
		},
		Capacity: o.Int("capacity"),
		Manager:  engine.ManagerConfig{Window: o.Int("window"), Fragment: o.Int("fragment"), MemberTimeout: cmp.Or(o.Duration("member-timeout"), -1)},
		Managers: o.Int("managers"), Members: members.Has, NoMulticast: !o.On("multicast"), Loss: o.Float("loss"),
		Discovery: o.Duration("discovery"), Gossip: o.On("gossip") && o.Duration("discovery") > 0, Stacks: s.Level == scenario.Stacks, Record: s.Record,
	}, nil
}
