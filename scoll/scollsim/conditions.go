package scollsim

import (
	"fmt"
	"slices"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/scoll"
)

// reasons are the statuses of missing members, by their names in scenarios.
var reasons = map[string]scoll.Status{
	"timed-out": scoll.ETIMEDOUT, "dead": scoll.EHOSTDOWN, "rejected": scoll.EPERM, "failed": scoll.EIO,
	"stale": scoll.ESTALE, "no-group": scoll.ENOGROUP, "canceled": scoll.ECANCELED,
}

var (
	groupArg = scenario.Arg{Name: "group", Kind: scenario.Word}
	overArg  = scenario.Arg{Name: "group", Kind: scenario.Word, Optional: true}
	nodesArg = scenario.Arg{Name: "nodes", Kind: scenario.NodeSet}
	whyArg   = scenario.Arg{Name: "why", Kind: scenario.Choice, Optional: true, Choices: []string{"timed-out", "dead", "rejected", "failed", "stale", "no-group", "canceled"}}
)

var conditions = kit.Conditions[*Net]{
	kit.Ask("over", "no broadcast is under way whose root still lives",
		(*Net).over),
	kit.Ask("reached-all", "the latest broadcast, over this group or any, is over and reached all its members",
		func(n *Net, a scenario.Args) (bool, string) { return n.unreached(a.Word(0), sim.NodeSet{}, "") }, overArg),
	kit.Ask("unreached", "the latest broadcast is over and reached all its members but exactly these, all of them for this reason",
		func(n *Net, a scenario.Args) (bool, string) { return n.unreached("", a.Nodes(0), a.Word(1)) }, nodesArg, whyArg),
	kit.Ask("not-sent", "the latest broadcast could not be sent",
		func(n *Net, a scenario.Args) (bool, string) { return n.notSent(a.Word(0)) }, whyArg),
	kit.Ask("created", "the group exists",
		(*Net).created, groupArg),
	kit.Ask("gone", "the group was destroyed, or could not be created",
		(*Net).gone, groupArg),
	kit.Ask("knows", "each node that is up knows so many groups",
		func(n *Net, a scenario.Args) (bool, string) { return n.knows(a.Int(0), a.Among(1)) }, scenario.Arg{Name: "number", Kind: scenario.Count}, scenario.Arg{Name: "by", Kind: scenario.NodeSet, Optional: true}),
	kit.Ask("exact", "for each broadcast that is over, the members that the root names are exactly those whose answer did not arrive",
		func(n *Net, _ scenario.Args) (bool, string) { return kit.Outcome(n.Exact()) }),
	kit.Ask("missing-right", "a member is missing if and only if the table of failures says so, for what happened during the broadcast to it or to nodes above it, and with the status that the table says",
		func(n *Net, _ scenario.Args) (bool, string) { return kit.Outcome(n.ledger.unfounded) }),
	kit.Ask("once", "no incarnation of a node ran a broadcast twice, and all members that answered ran it: where none is missing, all ran it exactly once",
		func(n *Net, _ scenario.Args) (bool, string) { return kit.Outcome(n.Once()) }),
	kit.Ask("idle-if-busy", "no member has run a broadcast that its root says it was too busy for, or a node above it",
		func(n *Net, _ scenario.Args) (bool, string) { return kit.Outcome(n.idleIfBusy()) }),
	kit.Ask("in-time", "no broadcast takes longer than its time-outs allow, with places also by the time for which members may hold it, but for those whose root was paused, slowed down or skewed",
		func(n *Net, _ scenario.Args) (bool, string) { return kit.Outcome(n.inTime()) }),
	kit.Ask("idle", "no node that is up keeps a request, but for those in which its service is stuck",
		(*Net).idle),
	kit.Ask("intact", "bulk data came to each member as they were sent; at the level of stacks",
		func(n *Net, _ scenario.Args) (bool, string) { return kit.Outcome(n.ledger.altered) }),
	kit.Ask("history", "the checkers of histories agree: ExactFailureSet and AtMostOnce; needs the option history",
		(*Net).history),
}

// Check implements [scenario.Instance].
func (n *Net) Check(condition string, args scenario.Args) (bool, string) {
	return conditions.Check(n, condition, args)
}

func (n *Net) created(args scenario.Args) (bool, string) {
	g := n.groups.byName[args.Word(0)]
	return g != nil && g.made, "it does not"
}

func (n *Net) gone(args scenario.Args) (bool, string) {
	g := n.groups.byName[args.Word(0)]
	return g != nil && !g.made && (g.ending || g.failed != scoll.OK), "it was not"
}

func (n *Net) over(scenario.Args) (bool, string) {
	for _, b := range n.ledger.list {
		if b.Outcome == UnderWay {
			return false, fmt.Sprintf("broadcast %s is under way", b.name())
		}
	}
	return true, ""
}

func (n *Net) unreached(group string, want sim.NodeSet, why string) (bool, string) {
	b := n.latest(group)
	switch {
	case b == nil:
		return false, "there was no broadcast"
	case b.Outcome == UnderWay:
		return false, fmt.Sprintf("broadcast %s is under way", b.name())
	case b.Outcome == RootGone:
		return false, fmt.Sprintf("the root of broadcast %s is gone", b.name())
	case b.Outcome == NotSent:
		return false, fmt.Sprintf("broadcast %s was not sent: %v", b.name(), b.Status)
	}
	ids := make([]sim.NodeID, len(b.Missing))
	same := len(b.Missing) == want.Len(n.cfg.Nodes)
	for i, m := range b.Missing {
		ids[i] = m.Node
		same = same && want.Has(m.Node)
		if why != "" && m.Status != reasons[why] {
			return false, fmt.Sprintf("broadcast %s: node %v is missing: %v", b.name(), m.Node, m.Status)
		}
	}
	if !same {
		return false, fmt.Sprintf("broadcast %s did not reach %d nodes: %v", b.name(), len(ids), sim.Nodes(ids...))
	}
	return true, ""
}

func (n *Net) notSent(why string) (bool, string) {
	b := n.latest("")
	if b == nil || b.Outcome != NotSent {
		return false, "it was, or there is none"
	}
	return why == "" || b.Status == reasons[why], b.Status.String()
}

func (n *Net) knows(want int, by sim.NodeSet) (bool, string) {
	for id := range by.All(n.cfg.Nodes) {
		if !n.Up(id) {
			continue
		}
		if got := len(n.Groups(id)); got != want {
			return false, fmt.Sprintf("node %v knows %d groups", id, got)
		}
	}
	return true, ""
}

// Groups lists the groups of a node. The node must be up.
func (n *Net) Groups(id sim.NodeID) []scoll.GroupState { return n.incarnations[id].groups() }

// history runs the checkers of histories.
func (n *Net) history(scenario.Args) (bool, string) {
	if n.Log == nil {
		return false, "there is no history: want 'set history on'"
	}
	for _, v := range slices.Concat(history.ExactFailureSet(n.Log, sim.AllNodes), history.AtMostOnce(n.Log)) {
		return false, v.String()
	}
	return true, ""
}
