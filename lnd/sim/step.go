package sim

import (
	"fmt"
	"time"
)

// Step identifies one step of a program.
type Step struct {
	Number uint64 // of all steps, from 1
	Node   NodeID
	Life   uint64
	At     time.Duration // virtual time
	Now    time.Duration // on the node's clock
	Kind   Kind          // of the input
	From   NodeID        // of the input
	Sends  int           // how many messages the program sent
	Events int           // how much it told
	Wake   time.Duration // the program's answer
	Digest uint64        // of all steps to this one
}

// ContractError is what a simulation ends with when a program breaks the
// contract of machines.
type ContractError struct {
	Step Step
	Why  string
}

func (e *ContractError) Error() string {
	return fmt.Sprintf("step %d, node %v at %v: %s", e.Step.Number, e.Step.Node, e.Step.At, e.Why)
}

// CPU is what a step costs the node that makes it. While it works, its
// messages and timers wait; what it sends leaves at the end of the work.
type CPU struct {
	PerStep time.Duration
	PerKiB  time.Duration // of the message that arrived
}

// step steps a node's program with n.in and does what it wants done.
func (n *Network[M]) step(id NodeID, size int) {
	nd := &n.nodes[id]
	n.steps++
	now := n.local(id)
	out := &n.out
	out.Reset()
	var wake time.Duration
	if r := n.cfg.Recorder; r == nil {
		wake = nd.program.Step(now, n.in, out)
	} else {
		wake = r.step(time.Duration(n.now), id, nd.program, now, &n.in, out)
	}
	digestStep(&n.digest, id, now, wake, &n.in, out, n.cfg.Hash)
	if wake <= now {
		n.broken(id, now, wake)
		return
	}
	if nd.wake = n.virtual(id, wake); nd.wake < nd.armed {
		n.arm(id)
	}
	if n.observe != nil || n.cfg.OnStep != nil {
		n.tell(id, now, wake)
	}
	at := n.now
	if n.costs {
		at = n.work(id, size)
	}
	if len(out.Ignore)+len(out.Watch)+len(out.Events) > 0 {
		n.apply(id)
	}
	for i := range out.Sends {
		n.send(id, &out.Sends[i], at)
	}
}

// tell tells those who observe of a step.
func (n *Network[M]) tell(id NodeID, now, wake time.Duration) {
	s := n.info(id, now, wake)
	if n.cfg.OnStep != nil {
		n.cfg.OnStep(s, &n.in, &n.out)
	}
	if n.observe != nil {
		n.observe(s)
	}
}

func (n *Network[M]) info(id NodeID, now, wake time.Duration) Step {
	return Step{
		Number: n.steps, Node: id, Life: uint64(n.nodes[id].life), At: time.Duration(n.now), Now: now,
		Kind: n.in.Kind, From: n.in.From, Sends: len(n.out.Sends), Events: len(n.out.Events),
		Wake: wake, Digest: uint64(n.digest),
	}
}

func (n *Network[M]) broken(id NodeID, now, wake time.Duration) {
	why := fmt.Sprintf("the program wants to wake at %v when its clock shows %v: want later, or machine.Never", wake, now)
	n.Stop(&ContractError{n.info(id, now, wake), why})
}

// work occupies the node's CPU for a step and returns when it is done.
func (n *Network[M]) work(id NodeID, size int) (done int64) {
	cost := int64(n.cfg.CPU.PerStep) + int64(n.cfg.CPU.PerKiB)*int64(size)/1024
	if n.slow != nil {
		cost += n.slow[id]
	}
	if cost <= 0 {
		return n.now
	}
	done = later(n.now, cost)
	n.occupy(id, done)
	return done
}

// occupy lets nothing reach a node's program until an instant.
func (n *Network[M]) occupy(id NodeID, until int64) {
	nd := &n.nodes[id]
	nd.state |= stateBusy
	n.queue.push(newEvent(until, evReady, id, int32(nd.life&refMask)))
}

// apply does what a program wants done beside sending.
func (n *Network[M]) apply(id NodeID) {
	out := &n.out
	for _, other := range out.Ignore {
		n.ignore(id, other)
	}
	for _, other := range out.Watch {
		n.watch(id, other)
	}
	if n.cfg.OnEvent != nil {
		for _, ev := range out.Events {
			n.cfg.OnEvent(time.Duration(n.now), id, ev)
		}
	}
}
