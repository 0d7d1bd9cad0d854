package sim

import (
	"fmt"
	"runtime/debug"
	"time"
)

// Step describes one step of a program.
type Step struct {
	Number      uint64        // number of the step among all nodes' steps, from 1
	Node        NodeID        // node that was stepped
	Incarnation uint64        // number of the node's incarnation, from 0
	At          time.Duration // virtual time of the step
	Now         time.Duration // time on the node's clock
	Kind        Kind          // kind of the input
	From        NodeID        // node that the input came from
	Sends       int           // number of messages that the program sent
	Events      int           // number of events that the program reported
	Wake        time.Duration // wake time that the program returned
	Digest      uint64        // digest of all steps up to this one
}

// ContractError is the error of a simulation in which a program breaks the
// contract of machines, or panics.
type ContractError struct {
	Step Step   // step in which the program broke the contract
	Why  string // which rule was broken, or the panic
	// Panic is the value of a panic, and Stack the stack trace of it; both are nil if there was
	// none.
	Panic any
	Stack []byte // stack trace of the panic
}

func (e *ContractError) Error() string {
	s := &e.Step
	return fmt.Sprintf("step %d (%v), node %v in incarnation %d at %v: %s", s.Number, s.Kind, s.Node, s.Incarnation, s.At, e.Why)
}

// Unwrap returns the value of a panic, if that is an error.
func (e *ContractError) Unwrap() error {
	err, _ := e.Panic.(error)
	return err
}

// CPU is what a step costs the node that makes it. While the node is busy, its messages and timers
// wait, and a message that it sends leaves only when the node is no longer busy. That message
// counts as sent at the step all the same: a kill or partition before it leaves does not stop it.
type CPU struct {
	PerStep time.Duration // CPU time that every step takes
	PerKiB  time.Duration // CPU time per KiB of the message that arrived
}

// step steps a node's program with n.in and carries out the program's output.
func (n *Network[M]) step(id NodeID, size int) {
	nd := &n.nodes[id]
	n.steps++
	now := n.local(id)
	out := &n.out
	out.Reset()
	var wake time.Duration
	n.stepping = int32(id) + 1
	if r := n.cfg.Recorder; r == nil {
		wake = nd.program.Step(now, n.in, out)
	} else {
		wake = r.step(time.Duration(n.now), id, nd.program, now, &n.in, out)
	}
	n.stepping = 0
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

// tell reports a step to Config.OnStep and to the function that was given to Observe.
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
		Number: n.steps, Node: id, Incarnation: uint64(n.nodes[id].incarnation), At: time.Duration(n.now), Now: now,
		Kind: n.in.Kind, From: n.in.From, Sends: len(n.out.Sends), Events: len(n.out.Events),
		Wake: wake, Digest: uint64(n.digest),
	}
}

func (n *Network[M]) broken(id NodeID, now, wake time.Duration) {
	why := fmt.Sprintf("the program wants to wake at %v when its clock shows %v: want later, or machine.Never", wake, now)
	n.Stop(&ContractError{Step: n.info(id, now, wake), Why: why})
}

// caught recovers a panic of a program and ends the simulation with an error that says in which
// step it happened. Panics outside of a program's step are not recovered.
func (n *Network[M]) caught(err *error) {
	if n.stepping == 0 {
		return
	}
	v := recover()
	if v == nil {
		return // runtime.Goexit: the goroutine ends without a panic
	}
	id := NodeID(n.stepping - 1)
	n.stepping = 0
	n.Stop(panicked(n.info(id, n.local(id), 0), v))
	*err = n.err
}

// panicked is the error of a step that has just panicked.
func panicked(s Step, v any) *ContractError {
	return &ContractError{Step: s, Why: fmt.Sprintf("the program panicked: %v", v), Panic: v, Stack: debug.Stack()}
}

// work occupies the node's CPU for a step, and returns the time at which the step is done.
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

// occupy defers all inputs of a node's program until an instant.
func (n *Network[M]) occupy(id NodeID, until int64) {
	nd := &n.nodes[id]
	nd.state |= stateBusy
	n.queue.push(newEvent(until, evReady, id, int32(nd.incarnation&refMask)))
}

// apply carries out a program's output, except for its sends.
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
