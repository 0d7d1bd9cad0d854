package gossipsim

import (
	"fmt"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnd/sim/scenario"
)

var conditions = []scenario.Condition{
	{Name: "views-equal", Args: []scenario.Arg{byArg}, Doc: "all nodes, or these, that take part think the same ones alive"},
	{Name: "alive", Args: []scenario.Arg{numberArg, byArg}, Doc: "each node that takes part thinks so many alive, itself included"},
	{Name: "dead", Args: []scenario.Arg{nodesArg, byArg}, Doc: "each node that takes part thinks none of these alive"},
	{Name: "known", Args: []scenario.Arg{nodesArg, byArg}, Doc: "each node that takes part thinks all of these alive"},
	{Name: "quorum", Args: []scenario.Arg{byArg}, Doc: "each node that takes part has a quorum"},
	{Name: "no-quorum", Args: []scenario.Arg{byArg}, Doc: "no node that takes part has a quorum"},
	{Name: "stopped", Args: []scenario.Arg{nodesArg}, Doc: "these nodes are up and take part no more, because of their parameters or because they left the list"},
	{Name: "list", Args: []scenario.Arg{numberArg, byArg}, Doc: "the list of each node that takes part has so many participants"},
	{Name: "detected-within", Args: []scenario.Arg{{Name: "cycles", Kind: scenario.Count}}, Doc: "nobody who could know thinks a node alive that has been down for so many cycles"},
	{Name: "no-false-death", Doc: "no node was told that one died which was fine: running and speaking, not paused, with a way to the other node, if only over others, and all of that for longer than news needs"},
	{Name: "no-resurrection", Doc: "no node was told that one is alive which has been down for longer than it takes to notice"},
	{Name: "history", Doc: "the checkers of histories agree: NoFalse, NoResurrection and Alternation; needs the option history"},
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
		return n.ViewsEqual(by(0))
	case "alive":
		return n.AliveExactly(args.Int(0), by(1))
	case "dead":
		return n.Think(by(1), args.Nodes(0), false)
	case "known":
		return n.Think(by(1), args.Nodes(0), true)
	case "quorum":
		return n.Quorum(by(0), true)
	case "no-quorum":
		return n.Quorum(by(0), false)
	case "stopped":
		return in.stopped(args.Nodes(0))
	case "list":
		return in.list(args.Int(0), by(1))
	case "detected-within":
		return n.DetectedWithin(args.Int(0))
	case "no-false-death":
		return n.verdict.FalseDeaths == 0, n.verdict.FirstFalse
	case "no-resurrection":
		return n.verdict.Resurrections == 0, n.verdict.FirstFalse
	}
	return in.history()
}

func (in *instance) stopped(set sim.NodeSet) (bool, string) {
	for id := range set.All(in.net.Nodes()) {
		if !in.net.Stopped(id) {
			return false, fmt.Sprintf("node %v has not stopped", id)
		}
	}
	return true, ""
}

func (in *instance) list(want int, by sim.NodeSet) (bool, string) {
	for id, v := range in.net.views(by) {
		if got := v.list.Len(); got != want {
			return false, fmt.Sprintf("the list of node %v has %d participants", id, got)
		}
	}
	return true, ""
}

// history asks the checkers of histories.
func (in *instance) history() (bool, string) {
	log := in.net.cfg.Log
	if log == nil {
		return false, "there is no history: want 'set history on'"
	}
	for _, list := range [][]history.Violation{
		history.NoFalse(log, in.net.historyGrace()), history.NoResurrection(log), history.Alternation(log),
	} {
		if len(list) > 0 {
			return false, list[0].String()
		}
	}
	return true, ""
}
