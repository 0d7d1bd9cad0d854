package rmcastsim

import (
	"fmt"
	"strconv"
	"time"

	"ulnet/lnd/sim"
)

// patience bounds how long Form and Finish run.
const patience = time.Minute

// Form runs the network until all nodes that join at their start are members of one version,
// and idle.
func (n *Net) Form() error {
	if err := n.until(50*time.Millisecond, n.whole); err != nil {
		return err
	}
	return n.Quiet()
}

// Quiet runs the network until origins have sent their last heartbeats.
func (n *Net) Quiet() error { return n.Run(n.Now() + 400*time.Millisecond) }

// until runs the network step by step until f returns nil.
func (n *Net) until(step time.Duration, f func() error) error {
	for end := n.Now() + patience; ; {
		err := f()
		if err == nil || n.Now() > end {
			return err
		}
		if err := n.Run(n.Now() + step); err != nil {
			return err
		}
	}
}

// Begin makes a node send count messages of size bytes.
func (n *Net) Begin(origin sim.NodeID, count, size int) ([]*Message, error) {
	at := len(n.ledger.all)
	if !n.Command(origin, "send "+strconv.Itoa(count)+" "+strconv.Itoa(size)) {
		return nil, fmt.Errorf("rmcastsim: node %v is down", origin)
	}
	if err := n.Run(n.Now()); err != nil {
		return nil, err
	}
	err := n.until(time.Microsecond, func() error { // retried, because a busy node handles the command later
		if len(n.ledger.all)-at < count {
			return fmt.Errorf("rmcastsim: node %v does not begin to send", origin)
		}
		return nil
	})
	return n.ledger.all[at:], err
}

// Finish runs the network until all messages have their outcome. The error includes violations
// found.
func (n *Net) Finish() error {
	if err := n.until(time.Millisecond, n.over); err != nil {
		return err
	}
	return n.problems()
}

// Send begins one message and waits for its end.
func (n *Net) Send(origin sim.NodeID, size int) (*Message, error) {
	list, err := n.Begin(origin, 1, size)
	if err == nil {
		err = n.Finish()
	}
	if err == nil && list[0].Outcome != Released {
		err = fmt.Errorf("rmcastsim: message %s was not released: %v", list[0].name(), list[0].Why)
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}
