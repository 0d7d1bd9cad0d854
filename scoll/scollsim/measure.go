package scollsim

import (
	"fmt"
	"time"

	"ulnet/lnd/sim"
)

// Group starts all nodes, and makes the first one create the group "g", whose members are all
// nodes. kind is how it is created: delayed, immediate or oob.
func (n *Net) Group(kind string) error {
	if err := n.Run(n.Now() + time.Millisecond); err != nil {
		return err
	}
	n.Command(0, "create g "+kind)
	for range 100 {
		if err := n.Run(n.Now() + 100*time.Millisecond); err != nil {
			return err
		}
		if n.groups.byName["g"].made {
			return nil
		}
	}
	return fmt.Errorf("scollsim: the group was not created: %v", n.groups.byName["g"].failed)
}

// Begin makes a node broadcast to the group "g". args are the arguments of the verb after the
// name.
func (n *Net) Begin(root sim.NodeID, args string) *Broadcast {
	at := len(n.ledger.list)
	n.Command(root, "broadcast g "+args)
	if err := n.Run(n.Now()); err != nil || len(n.ledger.list) == at {
		return &Broadcast{Outcome: RootGone}
	}
	return n.ledger.list[at]
}

// Finish runs the network until a broadcast is over.
func (n *Net) Finish(b *Broadcast) error {
	step := max(n.cfg.Scoll.RTT/4, time.Millisecond)
	for end := n.Now() + b.Limit + n.treeTime(b) + time.Second; b.Outcome == UnderWay; {
		if n.Now() > end {
			return n.inTime()
		}
		if err := n.Run(n.Now() + step); err != nil {
			return err
		}
	}
	if b.Outcome != Ended {
		return fmt.Errorf("scollsim: broadcast %s was not sent: %v", b.name(), b.Status)
	}
	return b.isExact()
}

// Broadcast begins a broadcast and waits for its end.
func (n *Net) Broadcast(root sim.NodeID, args string) (*Broadcast, error) {
	b := n.Begin(root, args)
	return b, n.Finish(b)
}

// Measured returns a new network in which the first node has broadcast once.
func Measured(cfg Config, kind, args string) (*Net, *Broadcast, error) {
	n, err := New(cfg)
	if err != nil {
		return nil, nil, err
	}
	if err := n.Group(kind); err != nil {
		return nil, nil, err
	}
	b, err := n.Broadcast(0, args)
	return n, b, err
}
