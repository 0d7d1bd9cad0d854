package sim

import (
	"errors"
	"math/rand/v2"
)

var errNoProgram = errors.New("sim: Config.Boot returned no program")

// start begins the next incarnation of node id.
func (n *Network[M]) start(id NodeID, keep bool) {
	nd := &n.nodes[id]
	var kept Program[M]
	if keep {
		kept = nd.program
	}
	incarnation := n.incarnation(id)
	if nd.program = n.cfg.Boot(incarnation, kept); nd.program == nil {
		n.Stop(errNoProgram)
		return
	}
	if n.cfg.Recorder != nil {
		n.cfg.Recorder.boot(incarnation, keep)
	}
	nd.state = stateUp | stateHost
	n.digest.boot(incarnation)
	n.input(Start)
	n.step(id, 0)
}

// incarnation describes the incarnation of a node that begins now.
func (n *Network[M]) incarnation(id NodeID) Incarnation {
	number := n.nodes[id].incarnation
	seed := rand.NewPCG(n.cfg.Seed, streamNodes+uint64(id)<<8+uint64(number)<<40)
	return Incarnation{Node: id, Number: uint64(number), Seed: seed.Uint64(), Now: n.local(id)}
}

// firstStart starts a node by Config.StartAt, unless Start has done so before.
func (n *Network[M]) firstStart(id NodeID) {
	if nd := &n.nodes[id]; nd.program == nil {
		n.start(id, false)
	}
}

// Start starts a node that is down: for the first time, in which case Config.StartAt no
// longer applies, or again, with or without the state that it kept. It does nothing and
// returns false for a node that is up.
func (n *Network[M]) Start(id NodeID, keep bool) bool {
	if n.Up(id) || n.err != nil {
		return false
	}
	n.start(id, keep)
	return true
}

// Kill ends the process of a node. Its host stays and refuses messages.
func (n *Network[M]) Kill(id NodeID) {
	if n.end(id) {
		n.nodes[id].state = stateHost
		n.tellWatchers(id)
	}
}

// Crash ends a node and its host. A crashed host answers nothing. If the node was killed before, so
// that only its host still runs, Crash ends the host.
func (n *Network[M]) Crash(id NodeID) {
	n.end(id)
	n.nodes[id].state = 0
}

// end ends the incarnation of a node. It returns false if no process runs on the node.
func (n *Network[M]) end(id NodeID) bool {
	nd := &n.nodes[id]
	if nd.state&stateUp == 0 {
		return false
	}
	for nd.waiting > 0 {
		i := n.unwait(nd)
		delete(n.commands, i)
		n.flights.release(i)
	}
	nd.wake, nd.turn = never, 0
	nd.incarnation++
	return true
}
