package zonesim

import (
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
)

var (
	nodesArg     = scenario.Arg{Name: "nodes", Kind: scenario.NodeSet}
	byArg        = scenario.Arg{Name: "by", Kind: scenario.NodeSet, Optional: true}
	reportersArg = scenario.Arg{Name: "reporters", Kind: scenario.NodeSet}
	aheadArg     = scenario.Arg{Name: "ahead", Kind: scenario.Count, Optional: true}
	numberArg    = scenario.Arg{Name: "number", Kind: scenario.Count}
	keyArg       = scenario.Arg{Name: "key", Kind: scenario.Word}
)

var conditions = kit.Conditions[*Net]{
	kit.Ask("views-equal", "in each zone all nodes, or these, that take part have the same members",
		func(n *Net, a scenario.Args) (bool, string) { return n.Equal(a.Among(0), false) }, byArg),
	kit.Ask("views-right", "and these are the nodes of the zone that run, in their latest incarnations",
		func(n *Net, a scenario.Args) (bool, string) { return n.Equal(a.Among(0), true) }, byArg),
	kit.Ask("members", "each node that takes part has so many members, itself included",
		func(n *Net, a scenario.Args) (bool, string) { return n.Members(a.Int(0), a.Among(1)) }, numberArg, byArg),
	kit.Ask("known", "each node that takes part has those of these that are in its zone as members",
		func(n *Net, a scenario.Args) (bool, string) { return n.knows(a.Among(1), a.Nodes(0), true) }, nodesArg, byArg),
	kit.Ask("removed", "each node that takes part has none of these as members, but itself",
		func(n *Net, a scenario.Args) (bool, string) { return n.knows(a.Among(1), a.Nodes(0), false) }, nodesArg, byArg),
	kit.Ask("attribute", "each node of the zone that takes part has this attribute of a node",
		func(n *Net, a scenario.Args) (bool, string) {
			return n.Has(a.Node(0), a.Word(1), a.Word(2), a.Among(3))
		}, scenario.Arg{Name: "owner", Kind: scenario.Node}, keyArg, scenario.Arg{Name: "value", Kind: scenario.Word}, byArg),
	kit.Ask("no-attribute", "none has",
		func(n *Net, a scenario.Args) (bool, string) { return n.Has(a.Node(0), a.Word(1), "", a.Among(2)) }, scenario.Arg{Name: "owner", Kind: scenario.Node}, keyArg, byArg),
	kit.Ask("attributes-equal", "in each zone all nodes that take part have the same attributes of each other",
		func(n *Net, a scenario.Args) (bool, string) { return n.Tables(a.Among(0)) }, byArg),
	kit.Ask("census-right", "each supervisor that takes part knows every base zone's size, its active delegate and its supervisor, and none as current of which no member runs any more",
		func(n *Net, a scenario.Args) (bool, string) { return n.censusRight(a.Among(0)) }, byArg),
	kit.Ask("monitors", "each node that takes part knows which running nodes of its zone are monitors: those that declared it, and active delegates",
		func(n *Net, a scenario.Args) (bool, string) { return n.monitors(a.Among(0)) }, byArg),
	kit.Ask("census-told", "each supervisor that takes part knows every base zone as current, by an active delegate with a link to its supervisor, if any delegate has a link to one, and otherwise as stale or lost",
		func(n *Net, a scenario.Args) (bool, string) { return n.censusTold(a.Among(0)) }, byArg),
	kit.Ask("census-kept", "each supervisor that takes part has an entry of every base zone",
		func(n *Net, a scenario.Args) (bool, string) { return n.censusKept(a.Among(0)) }, byArg),
	kit.Ask("no-false-removal", "no node was removed by others that was fine: running, neither slow nor paused, and connected; nor because of a goodbye that it did not say",
		func(n *Net, _ scenario.Args) (bool, string) { return n.outcome.False == 0, n.outcome.Wrong }),
	kit.Ask("alternating", "what nodes told gives their views, joins and leaves in turn, and no machine found itself broken; needs the option check",
		(*Net).alternating),
}

// Check implements [scenario.Instance].
func (n *Net) Check(condition string, args scenario.Args) (bool, string) {
	return conditions.Check(n, condition, args)
}

func (n *Net) alternating(scenario.Args) (bool, string) {
	if !n.cfg.Check {
		return false, "nobody listens: want 'set check on'"
	}
	v := &n.outcome
	return v.Unheard == "" && v.Broken == "", v.Unheard + v.Broken
}
