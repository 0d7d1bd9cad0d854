package zonesim

import (
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

var (
	nodesArg  = scenario.Arg{Name: "nodes", Kind: scenario.NodeSet}
	byArg     = scenario.Arg{Name: "by", Kind: scenario.NodeSet, Optional: true}
	numberArg = scenario.Arg{Name: "number", Kind: scenario.Count}
	keyArg    = scenario.Arg{Name: "key", Kind: scenario.Word}
)

var conditions = []scenario.Condition{
	{Name: "views-equal", Args: []scenario.Arg{byArg}, Doc: "in each zone all nodes, or these, that take part have the same members"},
	{Name: "views-right", Args: []scenario.Arg{byArg}, Doc: "and these are the nodes of the zone that run, in their latest lives"},
	{Name: "members", Args: []scenario.Arg{numberArg, byArg}, Doc: "each node that takes part has so many members, itself included"},
	{Name: "known", Args: []scenario.Arg{nodesArg, byArg}, Doc: "each node that takes part has those of these that are in its zone as members"},
	{Name: "removed", Args: []scenario.Arg{nodesArg, byArg}, Doc: "each node that takes part has none of these as members, but itself"},
	{Name: "attribute", Args: []scenario.Arg{{Name: "owner", Kind: scenario.Node}, keyArg, {Name: "value", Kind: scenario.Word}, byArg}, Doc: "each node of the zone that takes part has this attribute of a node"},
	{Name: "no-attribute", Args: []scenario.Arg{{Name: "owner", Kind: scenario.Node}, keyArg, byArg}, Doc: "none has"},
	{Name: "attributes-equal", Args: []scenario.Arg{byArg}, Doc: "in each zone all nodes that take part have the same attributes of each other"},
	{Name: "census-right", Args: []scenario.Arg{byArg}, Doc: "each supervisor that takes part knows every base zone's size, its active delegate and its supervisor"},
	{Name: "census-told", Args: []scenario.Arg{byArg}, Doc: "each supervisor that takes part knows every base zone as current, by an active delegate with a link to its supervisor, if any delegate has a link to one, and otherwise as stale or lost"},
	{Name: "census-kept", Args: []scenario.Arg{byArg}, Doc: "each supervisor that takes part has an entry of every base zone"},
	{Name: "no-false-removal", Doc: "no node was removed by others that was fine: running, neither slow nor paused, and connected"},
	{Name: "alternating", Doc: "what nodes told gives their views, joins and leaves in turn, and no machine found itself broken; needs the option check"},
}

// Check implements [scenario.Instance].
func (in *instance) Check(condition string, args scenario.Args) (bool, string) {
	n := in.net
	by := func(i int) sim.NodeSet {
		if len(args) <= i {
			return sim.AllNodes
		}
		return args.Nodes(i)
	}
	switch condition {
	case "views-equal":
		return n.Equal(by(0), false)
	case "views-right":
		return n.Equal(by(0), true)
	case "members":
		return n.Members(args.Int(0), by(1))
	case "known":
		return n.Knows(by(1), args.Nodes(0), true)
	case "removed":
		return n.Knows(by(1), args.Nodes(0), false)
	case "attribute":
		return n.Has(args.Node(0), args.Word(1), args.Word(2), by(3))
	case "no-attribute":
		return n.Has(args.Node(0), args.Word(1), "", by(2))
	case "attributes-equal":
		return n.Tables(by(0))
	case "census-right":
		return n.Census(by(0))
	case "census-told":
		return n.Told(by(0))
	case "census-kept":
		return n.Kept(by(0))
	case "no-false-removal":
		return n.verdict.False == 0, n.verdict.Wrong
	}
	if !n.cfg.Check {
		return false, "nobody listens: want 'set check on'"
	}
	v := &n.verdict
	return v.Unheard == "" && v.Broken == "", v.Unheard + v.Broken
}
