package healthsim

import (
	"strconv"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
)

// oracle is discovery that knows the ground truth, and errs as gossip does: it tells each server, with a delay, which
// other servers have died or come back.
type oracle struct {
	kit.Discovery
	net *network
}

// Times of the oracle besides config.discovery.
const (
	returnLeast = 200 * time.Millisecond // shortest time until observers notice that a server is back
	returnMost  = 600 * time.Millisecond
	resync      = time.Second // for this time after its pause, a server does not know which others are alive
)

func (o *oracle) init(n *network) {
	if o.net = n; !o.on() {
		return
	}
	o.Discovery = kit.Discovery{
		Base: &n.Base, Silence: n.cfg.discovery * 5 / 4, Cuts: func() *sim.Cuts { return &n.groundTruth.Cuts },
		Delay: o.delay, Report: o.tell,
	}
	o.Begin(n.cfg.Seed, 0x0AC1E, n.cfg.servers, func(a, b sim.NodeID) bool { return n.cfg.AtFirst(a) && n.cfg.AtFirst(b) })
}

func (o *oracle) on() bool { return o.net.cfg.gossip == 0 }

// ended handles the end of an incarnation: the next one also counts the deaths of the others anew.
func (o *oracle) ended(id sim.NodeID) {
	if o.Ended(id); o.on() && o.net.isServer(id) {
		for k := range o.Views[id] {
			o.Views[id][k].Lifetime = 0
		}
	}
}

// resumed handles the end of a pause: the server cannot judge at first.
func (o *oracle) resumed(id sim.NodeID) {
	if n := o.net; o.on() && n.isServer(id) {
		n.Command(id, "unsure")
		n.At(n.Now()+resync, func() {
			if !n.Paused(id) {
				n.Command(id, "sure")
			}
		})
	}
	o.Resumed(id)
}

func (o *oracle) delay(returns bool, drawn uint64) time.Duration {
	least, most := o.net.cfg.discovery*4/5, o.net.cfg.discovery
	if returns {
		least, most = returnLeast, returnMost
	}
	return least + time.Duration(drawn%uint64(most-least+1))
}

func (o *oracle) tell(observer, subject sim.NodeID, to *kit.Opinion) {
	word := "dead "
	if to.Alive {
		word = "alive "
	}
	o.net.Command(observer, word+subject.String()+" "+strconv.FormatUint(to.Lifetime, 10))
}
