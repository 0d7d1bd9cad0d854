package sim

import (
	"fmt"
	"math/bits"
	"time"
)

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

// timer handles the evTimer of a node. Only the one that the node is armed
// with counts, others are left over from earlier wakes.
func (n *Network[M]) timer(id NodeID, at int64) {
	nd := &n.nodes[id]
	if nd.armed != at {
		return
	}
	nd.armed = never
	switch {
	case nd.state&stateUp == 0:
	case nd.wake > at:
		n.arm(id)
	case nd.state&(statePaused|stateBusy) == 0:
		n.step(id, Input[M]{}, 0)
	}
}

// arm makes sure that an evTimer comes no later than the node's wake.
func (n *Network[M]) arm(id NodeID) {
	nd := &n.nodes[id]
	if nd.wake < nd.armed {
		nd.armed = nd.wake
		n.queue.push(event{at: nd.wake, node: int32(id), kind: evTimer})
	}
}

// step steps a node's program and does what it wants done.
func (n *Network[M]) step(id NodeID, in Input[M], size int) {
	nd := &n.nodes[id]
	n.steps++
	now := n.local(id)
	n.in = in
	n.out.Reset()
	wake := nd.program.Step(now, in, &n.out)
	if wake <= now {
		n.broken(id, now, wake)
		return
	}
	n.mix(uint64(n.now), uint64(id)<<8|uint64(in.Kind), uint64(wake))
	if in.Kind != Timer {
		n.mix(uint64(in.From)<<32|uint64(size), n.hash(&n.in.Msg), uint64(len(in.Text)))
	}
	nd.wake = n.virtual(id, wake)
	n.arm(id)
	if n.cfg.OnStep != nil {
		n.cfg.OnStep(n.info(id, now, wake), &n.in, &n.out)
	}
	n.apply(id, n.work(id, size))
}

func (n *Network[M]) info(id NodeID, now, wake time.Duration) Step {
	return Step{
		Number: n.steps, Node: id, Life: uint64(n.nodes[id].life),
		At: time.Duration(n.now), Now: now, Wake: wake,
	}
}

func (n *Network[M]) broken(id NodeID, now, wake time.Duration) {
	n.err = &ContractError{n.info(id, now, wake), fmt.Sprintf("the program wants to wake at %v when its clock shows %v: want later, or machine.Never", wake, now)}
}

// work occupies the node's CPU for a step and returns when it is done.
func (n *Network[M]) work(id NodeID, size int) (done int64) {
	cost := int64(n.cfg.CPU.PerStep) + int64(n.cfg.CPU.PerKiB)*int64(size)/1024
	if n.slow != nil {
		cost += n.slow[id]
	}
	if cost == 0 {
		return n.now
	}
	nd := &n.nodes[id]
	nd.state |= stateBusy
	done = n.now + cost
	n.queue.push(event{at: done, node: int32(id), ref: int32(nd.life), kind: evReady})
	return done
}

// apply does what the program of a node wants done, at an instant.
func (n *Network[M]) apply(id NodeID, at int64) {
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
	for i := range out.Sends {
		n.send(id, &out.Sends[i], at)
	}
}

// mix takes three words into the digest.
func (n *Network[M]) mix(a, b, c uint64) {
	const k0, k1 = 0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9
	hi, lo := bits.Mul64(n.digest^a^k0, b^k1)
	n.digest = bits.RotateLeft64(n.digest, 23) + (hi ^ lo) + c*k1
}

func (n *Network[M]) hash(m *M) uint64 {
	if n.cfg.Hash == nil {
		return 0
	}
	return n.cfg.Hash(m)
}
