package gossipsim

import (
	"fmt"

	"ulnet/lnd/sim/history"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
)

var conditions = kit.Conditions[*Net]{
	kit.Ask("views-equal", "all nodes, or these, that take part think the same ones alive",
		func(n *Net, a scenario.Args) (bool, string) { return n.viewsEqual(a.Among(0)) }, byArg),
	kit.Ask("alive", "each node that takes part thinks so many alive, itself included",
		func(n *Net, a scenario.Args) (bool, string) { return n.AliveExactly(a.Int(0), a.Among(1)) }, numberArg, byArg),
	kit.Ask("dead", "each node that takes part thinks none of these alive",
		func(n *Net, a scenario.Args) (bool, string) { return n.Think(a.Among(1), a.Nodes(0), false) }, nodesArg, byArg),
	kit.Ask("known", "each node that takes part thinks all of these alive",
		func(n *Net, a scenario.Args) (bool, string) { return n.Think(a.Among(1), a.Nodes(0), true) }, nodesArg, byArg),
	kit.Ask("quorum", "each node that takes part has a quorum",
		func(n *Net, a scenario.Args) (bool, string) { return n.Quorum(a.Among(0), true) }, byArg),
	kit.Ask("no-quorum", "no node that takes part has a quorum",
		func(n *Net, a scenario.Args) (bool, string) { return n.Quorum(a.Among(0), false) }, byArg),
	kit.Ask("stopped", "these nodes are up and take part no more, because of their parameters or because they left the list",
		(*Net).allStopped, nodesArg),
	kit.Ask("list", "the list of each node that takes part has so many participants",
		(*Net).listed, numberArg, byArg),
	kit.Ask("detected-within", "no node thinks one alive that has been down for so many cycles, and for as many since its own start or the end of its pause; a node that was paused may take longer while it has too little news",
		func(n *Net, a scenario.Args) (bool, string) { return n.detectedWithin(a.Int(0)) }, scenario.Arg{Name: "cycles", Kind: scenario.Count}),
	kit.Ask("no-false-death", "no node was told that one died which was fine: running and speaking, not paused, with a way to the other node, if only over others, and all of that for longer than news needs",
		func(n *Net, _ scenario.Args) (bool, string) { return n.outcome.FalseDeaths == 0, n.outcome.FirstFalse }),
	kit.Ask("no-resurrection", "no node was told that one is alive which has been down, silent after its start or paused for longer than it takes to notice, or of which no news could come for as long",
		func(n *Net, _ scenario.Args) (bool, string) {
			return n.outcome.Resurrections == 0, n.outcome.FirstFalse
		}),
	kit.Ask("history", "the checkers of histories agree: NoFalse, NoResurrection and Alternation; needs the option history",
		(*Net).history),
}

// Check implements [scenario.Instance].
func (n *Net) Check(condition string, args scenario.Args) (bool, string) {
	return conditions.Check(n, condition, args)
}

func (n *Net) allStopped(args scenario.Args) (bool, string) {
	for id := range args.Nodes(0).All(n.Nodes()) {
		if !n.Stopped(id) {
			return false, fmt.Sprintf("node %v has not stopped", id)
		}
	}
	return true, ""
}

func (n *Net) listed(args scenario.Args) (bool, string) {
	for id, v := range n.views(args.Among(1)) {
		if got := v.list.Len(); got != args.Int(0) {
			return false, fmt.Sprintf("the list of node %v has %d participants", id, got)
		}
	}
	return true, ""
}

// history runs three checkers of package history on the log: NoFalse, NoResurrection and Alternation.
func (n *Net) history(scenario.Args) (bool, string) {
	if n.Log == nil {
		return false, "there is no history: want 'set history on'"
	}
	for _, list := range [][]history.Violation{
		history.NoFalse(n.Log, n.historyGrace()), history.NoResurrection(n.Log), history.Alternation(n.Log),
	} {
		if len(list) > 0 {
			return false, list[0].String()
		}
	}
	return true, ""
}
