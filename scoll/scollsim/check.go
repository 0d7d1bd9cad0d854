package scollsim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/scoll"
	"ulnet/scoll/tree"
)

// minBulkRate is the default of scoll.Config.MinBulkRate.
const minBulkRate = 100_000_000

// name returns a description of a broadcast.
func (b *Broadcast) name() string {
	return fmt.Sprintf("%d of node %v over %s", b.Number, b.Root, b.Group)
}

// isExact returns nil if a broadcast has not ended, or accounts for each of its members
// exactly once: its answer arrived, or the root reports it missing.
func (b *Broadcast) isExact() (err error) {
	if b.Outcome != Ended || b.exact {
		return nil
	}
	defer func() { b.exact = err == nil }()
	seen := make(map[sim.NodeID]bool, len(b.Members))
	note := func(id sim.NodeID, what string) error {
		if seen[id] {
			return fmt.Errorf("broadcast %s: node %v is %s twice, or answered and missing", b.name(), id, what)
		}
		seen[id] = true
		return nil
	}
	for _, id := range b.Answered {
		if err := note(id, "answered"); err != nil {
			return err
		}
	}
	for _, m := range b.Missing {
		if err := note(m.Node, "missing"); err != nil {
			return err
		}
	}
	for _, id := range b.Members {
		if !seen[id] && id != b.Root {
			return fmt.Errorf("broadcast %s: no answer of node %v came, and the root does not say so", b.name(), id)
		}
		delete(seen, id)
	}
	for id := range sim.NodeID(len(b.ran)) {
		if seen[id] {
			return fmt.Errorf("broadcast %s: node %v is no member", b.name(), id)
		}
	}
	return nil
}

// hasRun returns nil if a broadcast has not ended, or all members that answered have run it.
func (b *Broadcast) hasRun() error {
	if b.Outcome != Ended {
		return nil
	}
	for _, id := range b.Answered {
		if b.ran[id].times == 0 {
			return fmt.Errorf("broadcast %s: node %v answered and has not run it", b.name(), id)
		}
	}
	return nil
}

// Exact checks all broadcasts, see isExact.
func (n *Net) Exact() error {
	if n.ledger.roster != nil {
		return n.ledger.roster
	}
	return n.first((*Broadcast).isExact)
}

// Once checks that no incarnation has run a broadcast twice, and that all members that answered
// have run it. If no member is missing, all members ran it exactly once.
func (n *Net) Once() error {
	if n.ledger.twice != nil {
		return n.ledger.twice
	}
	return n.first((*Broadcast).hasRun)
}

// isIdleIfBusy returns an error if a member that the root reports as busy has run the broadcast.
func (b *Broadcast) isIdleIfBusy() error {
	for _, m := range b.Missing {
		if errors.Is(m.Status, scoll.EBUSY) && b.ran[m.Node].times > 0 {
			return fmt.Errorf("broadcast %s: node %v was busy, and has run it", b.name(), m.Node)
		}
	}
	return nil
}

// idleIfBusy checks that no member which the root of a broadcast reports as busy has run that broadcast.
func (n *Net) idleIfBusy() error { return n.first((*Broadcast).isIdleIfBusy) }

// inTime checks that no broadcast has taken longer than its timeouts allow, see Broadcast.Limit.
func (n *Net) inTime() error {
	return n.first(func(b *Broadcast) error {
		now := n.Now()
		if b.Outcome == Ended {
			now = b.Done
		} else if b.Outcome != UnderWay {
			return nil
		}
		if b.isLate(now) && !b.excused {
			return fmt.Errorf("broadcast %s: not over after %v, its time-outs allow %v", b.name(), now-b.Departed, b.Limit)
		}
		return nil
	})
}

// isLate reports whether a broadcast that is still under way at the instant now has taken too long.
func (b *Broadcast) isLate(now time.Duration) bool { return now-b.Departed > b.Limit }

func (n *Net) first(check func(*Broadcast) error) error {
	for _, b := range n.ledger.list {
		if err := check(b); err != nil {
			return err
		}
	}
	return nil
}

// latest returns the latest broadcast over a group or, if group is "", over any group. It returns nil if
// there is none.
func (n *Net) latest(group string) *Broadcast {
	for _, b := range slices.Backward(n.ledger.list) {
		if group == "" || b.Group == group {
			return b
		}
	}
	return nil
}

// sent is called when a broadcast was accepted, and before each further attempt. It records the members of the
// broadcast and the sum of its timeouts, including those of all attempts: "the root sends the request again, up to
// three times, Config.Propagation apart" (docs/collectives.md).
func (n *Net) sent(b *Broadcast, members []sim.NodeID) {
	b.Members, b.Tried = members, n.Now()
	if b.late {
		kit.Note(&n.ledger.unfounded, "broadcast %s was sent after the group had ended at all members", b.name())
	}
	limit := n.treeTime(b) + n.holdTime(b)
	if b.order.isLive() {
		limit = 4*limit + 3*cmp.Or(n.cfg.Scoll.Propagation, time.Second)
	}
	b.Limit = max(b.Limit, limit)
}

// tree returns the tree of a broadcast.
func (n *Net) tree(b *Broadcast) tree.Tree {
	topology, _ := n.cfg.Tree.OrDefault().Topology()
	return tree.Tree{Topology: topology, N: len(b.Members), Root: max(slices.Index(b.Members, b.Root), 0)}
}

// treeTime returns T of the whole tree of a broadcast, see "Timeouts" in docs/collectives.md.
func (n *Net) treeTime(b *Broadcast) time.Duration {
	t, c := n.tree(b), n.cfg.Scoll
	levels := time.Duration(t.Depth(t.Root)) + 1
	return (2*levels-1)*(c.RTT+c.Guard) + levels*n.bulkTime(b) + b.order.processing
}

// holdTime returns how long the members of a broadcast may hold it: "a broadcast takes at most that time for the levels
// of its tree", d * (H + R), "if members are busy", see "Flow control" in docs/collectives.md.
func (n *Net) holdTime(b *Broadcast) time.Duration {
	if !n.hasFewSlots() {
		return 0
	}
	t, c := n.tree(b), n.cfg.Scoll
	h := min(max(4*(c.RTT+c.Guard+n.bulkTime(b)+b.order.processing), 5*time.Second), time.Minute)
	return time.Duration(t.Depth(t.Root)) * (h + c.RTT)
}

// hasFewSlots reports whether the scenario sets how many slots members have. The default is more than scenarios fill.
func (n *Net) hasFewSlots() bool { return n.cfg.Scoll.MaxActive > 0 }

// bulkTime returns how long the bulk data of a broadcast may take for a level of the tree.
func (n *Net) bulkTime(b *Broadcast) time.Duration {
	if b.order.bulk == 0 {
		return 0
	}
	return n.cfg.Scoll.RTT + time.Duration(b.order.bulk)*time.Second/minBulkRate
}
