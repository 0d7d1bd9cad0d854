package zonesim

import (
	"ulnet/gossip/zone"
	"ulnet/lnd/sim/scenario"
)

// Protocol makes zones available to scenarios.
var Protocol = &scenario.Protocol{
	Name:    "zone",
	Summary: "full views of zones, and the hierarchy above them",
	Options: []scenario.Option{
		{Name: "supervisors", Default: "0", Kind: scenario.Count, Doc: "how many of the first nodes are the management zone; 0: there is none"},
		{Name: "zones", Default: "1", Kind: scenario.Count, Least: 1, Doc: "how many base zones the other nodes are, of equal size"},
		{Name: "stub", Default: "0", Kind: scenario.Count, Doc: "how many members a base zone has of which one is a node; 0: all are"},
		{Name: "bootstrap", Default: "3", Kind: scenario.Count, Least: 1, Doc: "how many nodes of its zone each node begins with"},
		{Name: "preset", Default: "none", Kind: scenario.Choice, Choices: []string{"none", "paper"}, Doc: "paper: Θ 1, 1 successor, 3 random, τ 200ms, whatever else is set"},
		{Name: "theta", Default: "2", Kind: scenario.Count, Least: 1, Doc: "Θ: how many must suspect a node before it is removed"},
		{Name: "successors", Default: "0", Kind: scenario.Count, Doc: "K_s; 0: as many as Θ, 2 at least"},
		{Name: "random", Default: "3", Kind: scenario.Count, Least: 2, Doc: "K_r"},
		{Name: "aggregation", Default: "200ms", Kind: scenario.Duration, Doc: "τ"},
		{Name: "heartbeat", Default: "1s", Kind: scenario.Duration, Doc: "how often neighbours hear of each other"},
		{Name: "timeout", Default: "0s", Kind: scenario.Duration, Doc: "how long a neighbour may be silent; 0s: 3.5 heartbeats"},
		{Name: "retry", Default: "200ms", Kind: scenario.Duration, Doc: "how soon discovery tries again at first"},
		{Name: "delegates", Default: "3", Kind: scenario.Count, Least: 1, Doc: "how many a base zone has"},
		{Name: "sever", Default: "0", Kind: scenario.Count, Doc: "how many links between supervisors and delegates, drawn from the seed, fall silent"},
		{Name: "sever-at", Default: "10s", Kind: scenario.Duration, Doc: "when they do"},
		{Name: "names", Default: "own", Kind: scenario.Choice, Choices: []string{"own", "same"}, Doc: "same: all base zones have one name, by mistake"},
		{Name: "check", Default: "off", Kind: scenario.Switch, Doc: "listen to all nodes and examine their machines, for the condition alternating"},
	},
	Verbs: append([]scenario.Verb{
		{Name: "leave", Args: []scenario.Arg{{Name: "code", Kind: scenario.Count}}, Doc: "the node says goodbye, with an exit code"},
		{Name: "set", Args: []scenario.Arg{keyArg, {Name: "value", Kind: scenario.Word}}, Doc: "the node writes an attribute"},
		{Name: "rm", Args: []scenario.Arg{keyArg}, Doc: "the node deletes an attribute"},
		{Name: "monitor", Doc: "the node declares itself a high-priority monitor"},
		{Name: "lose", Args: []scenario.Arg{numberArg}, Doc: "so many members of a stub die"},
		{Name: "gain", Args: []scenario.Arg{numberArg}, Doc: "so many of those that died come back"},
	}, forgeries...),
	Conditions:   conditions.Declared(),
	Series:       series,
	Levels:       []scenario.Level{scenario.Machines, scenario.Stacks},
	LeastNodes:   2,
	BytesPerNode: bytesPerNode,
	New:          func(s *scenario.Setup) (scenario.Instance, error) { return New(configOf(s)) },
}

// bytesPerNode estimates the memory of a node. For a machine this is its view and the messages of the start,
// because all nodes may start at once. For a stack it is its buffers and its own table of ids. For a stub it
// is its ids and the state of its supervisor.
func bytesPerNode(level scenario.Level, nodes int, o scenario.Values) int64 {
	supervisors := o.Int("supervisors")
	size := int64(max(nodes-supervisors, 1) / max(o.Int("zones"), 1))
	need := 9400 + 36*size
	if level == scenario.Stacks {
		need = 5_400_000 + 1600*size
	}
	if s := int64(o.Int("stub")); s > 0 {
		need = 6000 + 700*s + 400*int64(nodes-supervisors)
	}
	if o.On("check") {
		need += 8 * size
	}
	return need
}

// configOf returns the configuration that a scenario describes.
func configOf(s *scenario.Setup) Config {
	o := s.Options
	z := zone.Config{
		Threshold: o.Int("theta"), Successors: o.Int("successors"), Random: o.Int("random"),
		Aggregation: o.Duration("aggregation"), Heartbeat: o.Duration("heartbeat"), Timeout: o.Duration("timeout"),
		Retry: o.Duration("retry"), Delegates: o.Int("delegates"),
	}
	if p := zone.Paper; o["preset"] == "paper" {
		z.Threshold, z.Successors, z.Random, z.Aggregation = p.Threshold, p.Successors, p.Random, p.Aggregation
	}
	return Config{
		Network:     s.Network,
		Supervisors: o.Int("supervisors"), Zones: o.Int("zones"), Stub: o.Int("stub"), Bootstrap: o.Int("bootstrap"), OneName: o["names"] == "same",
		Sever: o.Int("sever"), SeverAt: o.Duration("sever-at"),
		Zone: z, Check: o.On("check"), Stacks: s.Level == scenario.Stacks,
	}
}
