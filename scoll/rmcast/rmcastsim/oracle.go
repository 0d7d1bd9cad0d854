package rmcastsim

import (
	"math/rand/v2"
	"slices"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
)

// oracle is a perfect failure detector: it reports each death and return to each manager after
// a delay, and nothing else. A partition or a pause is not a death. A node that returns before
// its death was reported is not reported dead, and its return is reported a full delay later.
type oracle struct {
	net          *Net
	pcg          rand.PCG
	incarnations []uint64 // for each node, how often an incarnation has begun or ended
	told         time.Duration
	news         []time.Duration // for each node, the time until which some managers have not heard of its return
}

func (o *oracle) init(n *Net) {
	o.net, o.incarnations, o.news = n, make([]uint64, n.cfg.Nodes), slices.Repeat([]time.Duration{never}, n.cfg.Nodes)
	o.pcg.Seed(n.cfg.Seed, 0x0AC1E)
}

// speaks reports whether the oracle reports deaths and returns.
func (o *oracle) speaks() bool { return o.net.cfg.Discovery > 0 && !o.net.cfg.Gossip }

// started handles the begin of an incarnation.
func (o *oracle) started(incarnation sim.Incarnation) {
	o.incarnations[incarnation.Node]++
	if o.speaks() && incarnation.Number > 0 {
		o.spread(incarnation.Node, o.net.cfg.Discovery, true)
		o.news[incarnation.Node] = o.net.Now() + 2*o.net.cfg.Discovery
	}
}

// ended handles the end of an incarnation.
func (o *oracle) ended(id sim.NodeID) {
	o.incarnations[id]++
	if o.speaks() {
		o.spread(id, 0, false)
	}
}

// spread schedules a report about a node to each manager, at an instant of its own. Later news
// about the node cancels it.
func (o *oracle) spread(subject sim.NodeID, after time.Duration, alive bool) {
	n, delay, incarnations := o.net, o.net.cfg.Discovery, o.incarnations[subject]
	for id := range sim.NodeID(n.cfg.Managers) {
		at := n.Now() + after + delay - time.Duration(o.pcg.Uint64()%uint64(delay/2+1))
		n.At(at, func() {
			if o.incarnations[subject] == incarnations && n.Up(id) {
				o.tell(id, subject, alive)
			}
		})
	}
}

// tell reports the health of a node to one manager.
func (o *oracle) tell(observer, subject sim.NodeID, alive bool) {
	n := o.net
	o.told = n.Now()
	if n.cfg.Stacks {
		n.Fabric.Do(observer, func(*simlnd.Host) { n.incarnations[observer].(*stack).hear(simlnd.NID(subject), alive) })
		return
	}
	word := "dead "
	if alive {
		word = "alive "
	}
	n.Command(observer, word+subject.String())
}

// Notice is when a manager last heard of a death or return.
func (n *Net) Notice() time.Duration { return n.oracle.told }
