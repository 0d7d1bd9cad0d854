package rmcastsim

import (
	"errors"
	"fmt"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/scoll/rmcast/engine"
)

var (
	fewArg    = scenario.Arg{Name: "nodes", Kind: scenario.NodeSet, Optional: true}
	nodesArg  = scenario.Arg{Name: "nodes", Kind: scenario.NodeSet}
	originArg = scenario.Arg{Name: "origin", Kind: scenario.Node, Optional: true}
)

var conditions = kit.Conditions[*Net]{
	holds("over", "no message is under way whose origin still lives", (*Net).over),
	kit.Ask("released", "all messages so far, of this node or any, were released",
		func(n *Net, a scenario.Args) (bool, string) { return kit.Outcome(n.allReleased(a.Node(0))) }, originArg),
	kit.Ask("lost", "the latest message, of this node or any, was not released: its origin was told that it is no member any more",
		(*Net).lost, originArg),
	kit.Ask("failed", "the latest message is released, and exactly these members, or none, are named as failed",
		func(n *Net, a scenario.Args) (bool, string) { return kit.Outcome(n.failed(a.Nodes(0))) }, fewArg),
	kit.Ask("delivered", "these nodes have delivered the latest message",
		func(n *Net, a scenario.Args) (bool, string) { return kit.Outcome(n.delivered(a.Nodes(0))) }, nodesArg),
	holds("proven", "whenever a message was released, each member had delivered it or is named as failed", func(n *Net) error { return n.ledger.problems.proven }),
	holds("once", "no member has delivered a message twice, or one that was not sent or is altered, and with fifo all in order", (*Net).once),
	holds("failed-right", "members that are named as failed died, left or gave their membership up, or counted as dead as for success-right, or may have been left behind while the message was in flight or shortly before: a manager had not heard them for member-timeout, or they could not answer when a manager was elected", func(n *Net) error { return n.ledger.problems.failed }),
	holds("success-right", "no message was released as a success that a live member of its version lacks, whatever was cut off, paused or slow, unless the member gave its membership up, or left although it was not finished after 10 s, or gossip was certain that it is dead and a manager did not hear it or took over", func(n *Net) error { return n.ledger.problems.success }),
	holds("lost-right", "messages that were not released, although their origin lives, are too long, or their origin was no member, or its leaving took longer than 10 s, or it gave its membership up, or may have been left behind, as for failed-right, or its list may have given way to an independent one", func(n *Net) error { return n.ledger.problems.lost }),
	holds("whole", "one node manages the group, and all that are up, and have not left, are members and send under one list of exactly these", (*Net).whole),
	kit.Ask("members", "each of these nodes is a member and sends under a list of exactly these",
		func(n *Net, a scenario.Args) (bool, string) { return kit.Outcome(n.members(a.Nodes(0))) }, nodesArg),
	kit.Ask("manager", "of the nodes that are up, exactly these manage the group",
		func(n *Net, a scenario.Args) (bool, string) { return kit.Outcome(n.managed(a.Nodes(0))) }, nodesArg),
	holds("bounded", "no node keeps more of an origin than a window, or origins that are in no list that it knows", (*Net).bounded),
	holds("idle", "no member keeps payload, or a list but the newest one", (*Net).idle),
}

// holds declares a condition without arguments that holds unless f returns an error.
func holds(name, doc string, f func(n *Net) error) kit.Condition[*Net] {
	return kit.Ask(name, doc, func(n *Net, _ scenario.Args) (bool, string) { return kit.Outcome(f(n)) })
}

// Check implements [scenario.Instance].
func (n *Net) Check(condition string, args scenario.Args) (bool, string) {
	return conditions.Check(n, condition, args)
}

func (n *Net) lost(args scenario.Args) (bool, string) {
	m := n.latest(args.Node(0))
	return m != nil && m.Outcome == Lost, "it was not"
}

func (n *Net) once() error {
	p := &n.ledger.problems
	return errors.Join(p.once, p.content, p.order)
}

// latest returns the latest message of a node; -1: of any node.
func (n *Net) latest(origin sim.NodeID) *Message {
	all := n.ledger.all
	for i := len(all) - 1; i >= 0; i-- {
		if origin < 0 || all[i].Origin == origin {
			return all[i]
		}
	}
	return nil
}

// over returns an error if a message is in flight whose origin is alive.
func (n *Net) over() error {
	if n.ledger.open == 0 {
		return nil
	}
	for _, m := range n.ledger.all {
		if !m.over() {
			return fmt.Errorf("%d messages are under way, message %s since %v", n.ledger.open, m.name(), m.Begun)
		}
	}
	return errors.New("the books are wrong")
}

func (n *Net) allReleased(origin sim.NodeID) error {
	if n.latest(origin) == nil {
		return errors.New("there is no message")
	}
	for _, m := range n.ledger.all {
		if (m.Outcome != Released || m.Why != nil) && (origin < 0 || m.Origin == origin) {
			return fmt.Errorf("message %s is not: %v", m.name(), m.Why)
		}
	}
	return nil
}

func (n *Net) failed(want sim.NodeSet) error {
	m := n.latest(-1)
	if m == nil || m.Outcome != Released {
		return errors.New("it is not released, or there is none")
	}
	ids := make([]sim.NodeID, len(m.Result.Failed))
	same := len(ids) == want.Len(n.cfg.Nodes)
	for i, id := range m.Result.Failed {
		ids[i] = kit.NodeOf(id.NID)
		same = same && want.Has(ids[i])
	}
	if !same {
		return fmt.Errorf("message %s: %v are", m.name(), sim.Nodes(ids...))
	}
	return nil
}

func (n *Net) delivered(want sim.NodeSet) error {
	m := n.latest(-1)
	if m == nil {
		return errors.New("there is no message")
	}
	for id := range want.All(n.cfg.Nodes) {
		if m.got[id] == 0 {
			return fmt.Errorf("node %v has not delivered message %s", id, m.name())
		}
	}
	return nil
}

// each calls f for the status of each node that is up. It ends with the first error of f, and returns it with the name
// of the node.
func (n *Net) each(f func(id sim.NodeID, s *engine.Status) error) error {
	for id := range sim.NodeID(n.cfg.Nodes) {
		if s, ok := n.Status(id); ok {
			if err := f(id, &s); err != nil {
				return fmt.Errorf("node %v %w", id, err)
			}
		}
	}
	return nil
}

func (n *Net) members(want sim.NodeSet) error {
	return n.each(func(id sim.NodeID, s *engine.Status) error {
		if !want.Has(id) {
			return nil
		}
		same := len(s.Members) == want.Len(n.cfg.Nodes) && s.Sending == s.Version
		for _, m := range s.Members {
			same = same && want.Has(kit.NodeOf(m.NID))
		}
		if !same || s.State != "member" {
			return fmt.Errorf("is %s, of %d in version %v, sends under %v", s.State, len(s.Members), s.Version, s.Sending)
		}
		return nil
	})
}

func (n *Net) whole() error {
	var want []sim.NodeID
	managers := 0
	for id := range sim.NodeID(n.cfg.Nodes) {
		if g, ok := n.managing(id); ok && g.Active {
			managers++
		}
		if n.Up(id) && n.nodes[id].wants {
			want = append(want, id)
		}
	}
	if managers != 1 {
		return fmt.Errorf("%d nodes manage the group", managers)
	}
	return n.members(sim.Nodes(want...))
}

func (n *Net) managed(want sim.NodeSet) error {
	for id := range sim.NodeID(n.cfg.Nodes) {
		g, ok := n.managing(id)
		if active := ok && g.Active; active != want.Has(id) {
			return fmt.Errorf("node %v: %v", id, active)
		}
	}
	return nil
}

// bounded returns an error if a node keeps more than it may.
func (n *Net) bounded() error {
	return n.each(func(_ sim.NodeID, s *engine.Status) error {
		if len(s.Streams) > n.cfg.Nodes*max(s.Versions, 1) {
			return fmt.Errorf("keeps %d origins, and knows %d lists", len(s.Streams), s.Versions)
		}
		for _, t := range s.Streams {
			if t.Head-t.Stable > uint64(s.Window) || t.Next < t.Stable {
				return fmt.Errorf("keeps [%d, %d) of %v, next is %d", t.Stable, t.Head, t.Origin, t.Next)
			}
		}
		return nil
	})
}

// idle returns an error if a member keeps payload.
func (n *Net) idle() error {
	return n.each(func(_ sim.NodeID, s *engine.Status) error {
		if s.Versions > 1 {
			return fmt.Errorf("keeps %d lists", s.Versions)
		}
		for _, t := range s.Streams {
			if t.Stable != t.Head {
				return fmt.Errorf("keeps [%d, %d) of %v", t.Stable, t.Head, t.Origin)
			}
		}
		return nil
	})
}
