package zonesim

import (
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
)

var (
	nodesArg  = scenario.Arg{Name: "nodes", Kind: scenario.NodeSet}
	byArg     = scenario.Arg{Name: "by", Kind: scenario.NodeSet, Optional: true}
	numberArg = scenario.Arg{Name: "number", Kind: scenario.Count}
	keyArg    = scenario.Arg{Name: "key", Kind: scenario.Word}
)

var conditions = kit.Conditions[*Net]{
	{
		Name: "views-equal", Args: []scenario.Arg{byArg}, Holds: func(n *Net, a scenario.Args) (bool, string) { return n.Equal(a.Among(0), false) },
		Doc: "in each zone all nodes, or these, that take part have the same members",
	},
	{
		Name: "views-right", Args: []scenario.Arg{byArg}, Holds: func(n *Net, a scenario.Args) (bool, string) { return n.Equal(a.Among(0), true) },
		Doc: "and these are the nodes of the zone that run, in their latest lives",
	},
	{
		Name: "members", Args: []scenario.Arg{numberArg, byArg}, Holds: func(n *Net, a scenario.Args) (bool, string) { return n.Members(a.Int(0), a.Among(1)) },
		Doc: "each node that takes part has so many members, itself included",
	},
	{
		Name: "known", Args: []scenario.Arg{nodesArg, byArg}, Holds: func(n *Net, a scenario.Args) (bool, string) { return n.Knows(a.Among(1), a.Nodes(0), true) },
		Doc: "each node that takes part has those of these that are in its zone as members",
	},
	{
		Name: "removed", Args: []scenario.Arg{nodesArg, byArg}, Holds: func(n *Net, a scenario.Args) (bool, string) { return n.Knows(a.Among(1), a.Nodes(0), false) },
		Doc: "each node that takes part has none of these as members, but itself",
	},
	{
		Name: "attribute", Args: []scenario.Arg{{Name: "owner", Kind: scenario.Node}, keyArg, {Name: "value", Kind: scenario.Word}, byArg}, Holds: func(n *Net, a scenario.Args) (bool, string) {
			return n.Has(a.Node(0), a.Word(1), a.Word(2), a.Among(3))
		},
		Doc: "each node of the zone that takes part has this attribute of a node",
	},
	{
		Name: "no-attribute", Args: []scenario.Arg{{Name: "owner", Kind: scenario.Node}, keyArg, byArg}, Holds: func(n *Net, a scenario.Args) (bool, string) { return n.Has(a.Node(0), a.Word(1), "", a.Among(2)) },
		Doc: "none has",
	},
	{
		Name: "attributes-equal", Args: []scenario.Arg{byArg}, Holds: func(n *Net, a scenario.Args) (bool, string) { return n.Tables(a.Among(0)) },
		Doc: "in each zone all nodes that take part have the same attributes of each other",
	},
	{
		Name: "census-right", Args: []scenario.Arg{byArg}, Holds: func(n *Net, a scenario.Args) (bool, string) { return n.Census(a.Among(0)) },
		Doc: "each supervisor that takes part knows every base zone's size, its active delegate and its supervisor",
	},
	{
		Name: "census-told", Args: []scenario.Arg{byArg}, Holds: func(n *Net, a scenario.Args) (bool, string) { return n.Told(a.Among(0)) },
		Doc: "each supervisor that takes part knows every base zone as current, by an active delegate with a link to its supervisor, if any delegate has a link to one, and otherwise as stale or lost",
	},
	{
		Name: "census-kept", Args: []scenario.Arg{byArg}, Holds: func(n *Net, a scenario.Args) (bool, string) { return n.Kept(a.Among(0)) },
		Doc: "each supervisor that takes part has an entry of every base zone",
	},
	{
		Name: "no-false-removal", Holds: func(n *Net, _ scenario.Args) (bool, string) { return n.verdict.False == 0, n.verdict.Wrong },
		Doc: "no node was removed by others that was fine: running, neither slow nor paused, and connected",
	},
	{
		Name: "alternating", Holds: (*Net).alternating,
		Doc: "what nodes told gives their views, joins and leaves in turn, and no machine found itself broken; needs the option check",
	},
}

// Check implements [scenario.Instance].
func (n *Net) Check(condition string, args scenario.Args) (bool, string) {
	return conditions.Check(n, condition, args)
}

func (n *Net) alternating(scenario.Args) (bool, string) {
	if !n.cfg.Check {
		return false, "nobody listens: want 'set check on'"
	}
	v := &n.verdict
	return v.Unheard == "" && v.Broken == "", v.Unheard + v.Broken
}
