package gossipsim

import (
	"io"
	"time"

	"ulnet/gossip"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
)

// Protocol makes gossip available to scenarios.
var Protocol = &scenario.Protocol{
	Name:    "gossip",
	Summary: "who is alive, by gossip",
	Options: []scenario.Option{
		{Name: "interval", Default: "200ms", Kind: scenario.Duration, Doc: "time between gossip cycles"},
		{Name: "fudge", Default: "0", Kind: scenario.Count, Doc: "by how many cycles more than needed entries of replies are fresher; 0: log2 N / 4"},
		{Name: "dead-factor", Default: "2", Kind: scenario.Count, Least: 1, Doc: "dead is who is older than this times log2 N, and slack and fudge"},
		{Name: "dead-slack", Default: "4", Kind: scenario.Count, Doc: "see dead-factor"},
		{Name: "dead-floor", Default: "16", Kind: scenario.Count, Doc: "nobody is dead at this age or below"},
		{Name: "obsolete", Default: "0", Kind: scenario.Count, Doc: "how far behind the clock of a message may be; 0: 4 log2 N, at least 40"},
		{Name: "quorum", Default: "50", Kind: scenario.Count, Least: 1, Most: 100, Doc: "more than this percentage must be alive"},
		{Name: "cold-start", Default: "on", Kind: scenario.Switch, Doc: "nodes speak at once when they start for the first time, and are not silent until others think them dead"},
		{Name: "strict", Default: "off", Kind: scenario.Switch, Doc: "the letter of the design"},
		{Name: "columns", Default: "0", Kind: scenario.Count, Doc: "only so many first nodes are tracked, which makes room for many; 0: all"},
		{Name: "members", Default: "0", Kind: scenario.Count, Doc: "how many nodes the first list of participants has; 0: all"},
		{Name: "dying", Default: "0", Kind: scenario.Count, Most: 99, Doc: "this percentage of the nodes, the first ones, crashes at 20s"},
		{Name: "history", Default: "off", Kind: scenario.Switch, Doc: "keep all that nodes tell, for the condition history"},
	},
	Verbs: []scenario.Verb{
		{Name: "stage", Args: []scenario.Arg{nodesArg}, Doc: "the node learns the list of participants to come"},
		{Name: "commit", Doc: "the node changes to the list that it staged"},
		{Name: "cancel", Doc: "the node forgets the list that it staged"},
		{Name: "misconfigure", Args: []scenario.Arg{{Name: "what", Kind: scenario.Choice, Choices: []string{"list", "interval"}}}, Doc: "the node starts anew with another list, or interval, than others"},
	},
	Conditions:   conditions.Declared(),
	Series:       series,
	Levels:       []scenario.Level{scenario.Machines, scenario.Stacks},
	CheckEvery:   50 * time.Millisecond,
	BytesPerNode: bytesPerNode,
	New:          newInstance,
	Replay: func(s *scenario.Setup, r io.Reader) (sim.Replayed, error) {
		n, err := prepare(configOf(s))
		if err != nil {
			return sim.Replayed{}, err
		}
		return kit.Replay(r, s.Nodes, n.machines())
	},
}

var (
	nodesArg  = scenario.Arg{Name: "nodes", Kind: scenario.NodeSet}
	byArg     = scenario.Arg{Name: "by", Kind: scenario.NodeSet, Optional: true}
	numberArg = scenario.Arg{Name: "number", Kind: scenario.Count}
)

// bytesPerNode estimates the memory of a node. For a machine these are the ages, two bits for
// each participant and the messages in flight; for a stack they are mostly its four buffers.
func bytesPerNode(level scenario.Level, nodes int, o scenario.Values) int64 {
	columns := int64(nodes)
	if c := int64(o.Int("columns")); c > 0 {
		columns = min(c, columns)
	}
	need := 1250 + columns + columns/4 + columns/16
	if o.On("history") {
		need += 40 * columns
	}
	if level == scenario.Stacks {
		need += 4<<20 + 64<<10 + 2*2400*int64(min(nodes, 200))
	}
	return need
}

func newInstance(s *scenario.Setup) (scenario.Instance, error) {
	n, err := New(configOf(s))
	if err != nil {
		return nil, err
	}
	if dying := s.Nodes * s.Options.Int("dying") / 100; dying > 0 {
		n.At(dyingAt, func() {
			for id := range dying {
				n.Crash(sim.NodeID(id))
			}
		})
	}
	return n, nil
}

// dyingAt is when the nodes that the option "dying" names crash: by then the nodes know each
// other.
const dyingAt = 20 * time.Second

// configOf returns the configuration that a scenario describes.
func configOf(s *scenario.Setup) Config {
	o := s.Options
	cfg := Config{
		Network: s.Network,
		Gossip: gossip.Config{
			Interval: o.Duration("interval"), Fudge: o.Int("fudge"), DeadFactor: o.Int("dead-factor"),
			DeadSlack: orNone(o.Int("dead-slack")), DeadFloor: orNone(o.Int("dead-floor")), Obsolete: o.Int("obsolete"),
			Quorum: o.Int("quorum"), ColdStart: o.On("cold-start"), Strict: o.On("strict"),
		},
		Columns: o.Int("columns"),
		Members: o.Int("members"), Stacks: s.Level == scenario.Stacks, Record: s.Record,
	}
	if o.On("history") {
		cfg.Log = history.New()
	}
	return cfg
}

// orNone converts a number of a scenario to the value of a field of a Config. In a scenario 0 means none; in
// a Config 0 means the default, and a negative number means none.
func orNone(v int) int {
	if v == 0 {
		return -1
	}
	return v
}
