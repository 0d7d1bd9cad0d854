package rmcastsim

import (
	"math/rand/v2"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
)

// oracle is discovery that knows: each manager hears of a death or a return some
// time later, and of nothing else. A partition or a pause is no death. Who is back
// before its death is heard of is not said to have died, and who comes back is
// announced a full delay after its return.
type oracle struct {
	net          *Net
	pcg          rand.PCG
	incarnations []uint64 // of each node, how many have begun or ended
	told         time.Duration
	news         []time.Duration // of each node, until when not all have heard of its return
}

func (o *oracle) init(n *Net) {
	o.net, o.incarnations, o.news = n, make([]uint64, n.cfg.Nodes), make([]time.Duration, n.cfg.Nodes)
	o.pcg.Seed(n.cfg.Seed, 0x0AC1E)
}

// started hears that an incarnation begins.
func (o *oracle) started(incarnation sim.Incarnation) {
	o.incarnations[incarnation.Node]++
	if o.net.cfg.Discovery > 0 && incarnation.Number > 0 {
		o.spread(incarnation.Node, o.net.cfg.Discovery, true)
		o.news[incarnation.Node] = o.net.Now() + 2*o.net.cfg.Discovery
	}
}

// ended hears that an incarnation ends.
func (o *oracle) ended(id sim.NodeID) {
	o.incarnations[id]++
	if o.net.cfg.Discovery > 0 {
		o.spread(id, 0, false)
	}
}

// spread lets the managers hear of a node, each at a time of its own, unless there
// is other news of it by then.
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

// tell tells one manager.
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
