package scollsim

import (
	"fmt"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnd/sim/scenario"
	"ulnet/scoll"
)

// reasons are why members are missing, in the words of scenarios.
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

var conditions = []scenario.Condition{
	{Name: "over", Doc: "no broadcast is under way whose root still lives"},
	{Name: "reached-all", Args: []scenario.Arg{overArg}, Doc: "the latest broadcast, over this group or any, is over and reached all its members"},
	{Name: "unreached", Args: []scenario.Arg{nodesArg, whyArg}, Doc: "the latest broadcast is over and reached all its members but exactly these, all of them for this reason"},
	{Name: "not-sent", Args: []scenario.Arg{whyArg}, Doc: "the latest broadcast could not be sent"},
	{Name: "created", Args: []scenario.Arg{groupArg}, Doc: "the group exists"},
	{Name: "gone", Args: []scenario.Arg{groupArg}, Doc: "the group was destroyed, or could not be created"},
	{Name: "knows", Args: []scenario.Arg{{Name: "number", Kind: scenario.Count}, {Name: "by", Kind: scenario.NodeSet, Optional: true}}, Doc: "each node that is up knows so many groups"},
	{Name: "exact", Doc: "for each broadcast that is over, the members that the root names are exactly those whose answer did not arrive"},
	{Name: "once", Doc: "no life of a node ran a broadcast twice, and all who answered ran it: where nobody is missing, all ran it exactly once"},
	{Name: "idle-if-busy", Doc: "no member has run a broadcast that its root says it was too busy for, or a node above it"},
	{Name: "in-time", Doc: "no broadcast takes more than twice what its time-outs allow and a second, but for those whose root was paused, slowed down or skewed"},
	{Name: "intact", Doc: "bulk data came to each member as they were sent; at the level of stacks"},
	{Name: "history", Doc: "the checkers of histories agree: ExactFailureSet and AtMostOnce; needs the option history"},
}

// Check implements [scenario.Instance].
func (in *instance) Check(condition string, args scenario.Args) (bool, string) {
	n := in.Net
	switch condition {
	case "over":
		return n.over()
	case "reached-all":
		group := ""
		if len(args) > 0 {
			group = args.Word(0)
		}
		return n.unreached(group, sim.NodeSet{}, "")
	case "unreached":
		return n.unreached("", args.Nodes(0), optional(args, 1))
	case "not-sent":
		return n.notSent(optional(args, 0))
	case "created":
		g := n.groups.byName[args.Word(0)]
		return g != nil && g.made, "it does not"
	case "gone":
		g := n.groups.byName[args.Word(0)]
		return g != nil && !g.made && (g.ending || g.failed != scoll.OK), "it was not"
	case "knows":
		by := sim.AllNodes
		if len(args) > 1 {
			by = args.Nodes(1)
		}
		return n.knows(args.Int(0), by)
	case "exact":
		return verdict(n.Exact())
	case "once":
		return verdict(n.Once())
	case "idle-if-busy":
		return verdict(n.IdleIfBusy())
	case "in-time":
		return verdict(n.InTime())
	case "intact":
		return n.ledger.altered == "", n.ledger.altered
	}
	return n.history()
}

func verdict(err error) (bool, string) {
	if err != nil {
		return false, err.Error()
	}
	return true, ""
}

// optional is an argument that may have been left out.
func optional(args scenario.Args, i int) string {
	if i < len(args) {
		return args.Word(i)
	}
	return ""
}

func (n *Net) over() (bool, string) {
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

// Groups lists the groups that a node knows that is up.
func (n *Net) Groups(id sim.NodeID) []scoll.GroupState {
	if n.cfg.Stacks {
		return n.stacks[id].agent.Groups()
	}
	return n.programs[id].m.Groups()
}

// history asks the checkers of histories.
func (n *Net) history() (bool, string) {
	log := n.cfg.Log
	if log == nil {
		return false, "there is no history: want 'set history on'"
	}
	for _, list := range [][]history.Violation{history.ExactFailureSet(log, sim.AllNodes), history.AtMostOnce(log)} {
		for _, v := range list {
			return false, v.String()
		}
	}
	return true, ""
}
