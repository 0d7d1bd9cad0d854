package scollsim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
)

// oracle is a perfect failure detector with a delay: each observer learns of a death or a
// return some time later, and of nothing else. A partition or a pause does not count as a
// death, unless discovery errs, see erring. A return is announced a full delay later, because a restarted node is silent until all
// nodes have learned of its death.
type oracle struct {
	net    *Net
	errs   erring
	pcg    rand.PCG
	deaths []uint64 // number of deaths of each node
	nodes  []vital  // state of the nodes as seen by an observer that has all news
}

// vital is the state of a node to discovery.
type vital struct {
	alive    bool
	lifetime uint64 // how often the node has died
}

func (o *oracle) init(n *Net) {
	o.net, o.nodes, o.deaths = n, make([]vital, n.cfg.Nodes), make([]uint64, n.cfg.Nodes)
	o.errs.init(n)
	o.pcg.Seed(n.cfg.Seed, 0x0AC1E)
	for id := range o.nodes {
		o.nodes[id].alive = o.net.cfg.AtFirst(sim.NodeID(id))
	}
}

func (o *oracle) on() bool { return o.net.cfg.Discovery > 0 }

// started announces an incarnation that begins, and tells it what has changed since the
// beginning of the run, see program.start.
func (o *oracle) started(incarnation sim.Incarnation) {
	switch {
	case !o.on():
		return
	case o.errs.on():
		o.errs.Changed()
		return
	}
	for id := range o.nodes {
		if subject, v := sim.NodeID(id), o.nodes[id]; v != (vital{alive: o.net.cfg.AtFirst(subject)}) && subject != incarnation.Node {
			o.net.At(o.net.Now(), func() { o.tell(incarnation.Node, subject, v) })
		}
	}
	if incarnation.Number > 0 || !o.nodes[incarnation.Node].alive {
		o.spread(incarnation.Node, o.net.cfg.Discovery, vital{true, o.deaths[incarnation.Node]})
	}
}

// ended announces that an incarnation has ended.
func (o *oracle) ended(id sim.NodeID) {
	switch o.deaths[id]++; {
	case o.errs.on():
		o.errs.Ended(id)
	case o.on():
		o.spread(id, 0, vital{false, o.deaths[id]})
	}
}

// spread reports a change to all nodes, to each at a random time.
func (o *oracle) spread(subject sim.NodeID, after time.Duration, v vital) {
	n, delay := o.net, o.net.cfg.Discovery
	last := n.Now() + after + delay
	n.At(last, func() {
		if !o.old(subject, v) {
			o.nodes[subject] = v
		}
	})
	for id := range sim.NodeID(n.cfg.Nodes) {
		if id != subject {
			at := last - time.Duration(o.pcg.Uint64()%uint64(delay/2+1))
			n.At(at, func() { o.tell(id, subject, v) })
		}
	}
}

// known returns what an incarnation that begins knows of each node.
func (o *oracle) known(observer sim.NodeID) []vital {
	list := slices.Clone(o.nodes)
	if o.errs.on() {
		for id := range list {
			list[id] = vitalOf(&o.errs.Views[observer][id])
		}
		list[observer].alive = true
	}
	return list
}

// old reports whether the state v, in which a node is alive, is out of date because the node
// has died since.
func (o *oracle) old(subject sim.NodeID, v vital) bool {
	return v.alive && v.lifetime != o.deaths[subject]
}

// tell reports a change to one observer.
func (o *oracle) tell(observer, subject sim.NodeID, v vital) {
	if o.net.Up(observer) && !o.old(subject, v) {
		o.report(observer, subject, v)
	}
}

// report makes discovery at an observer that is up report a state.
func (o *oracle) report(observer, subject sim.NodeID, v vital) {
	n := o.net
	switch {
	case n.cfg.Stacks:
		n.Fabric.Do(observer, func(*simlnd.Host) { n.incarnations[observer].(*stack).view.hear(simlnd.NID(subject), v) })
	default:
		word := "dead"
		if v.alive {
			word = "alive"
		}
		n.Command(observer, fmt.Sprintf("%s %v %d", word, subject, v.lifetime))
	}
}
