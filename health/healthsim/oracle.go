package healthsim

import (
	"math/rand/v2"
	"strconv"
	"time"

	"ulnet/lnd/sim"
)

// oracle is a discovery service that knows the ground truth: it tells each server, with a delay, which
// other servers have died or come back. It imitates gossip in three points. A server counts as dead for
// an observer if the server is paused, or if no path leads from the server to the observer. A restarted
// server is silent until all others have noticed its death. After a pause, a server starts its timeouts
// anew.
type oracle struct {
	net   *network
	pcg   rand.PCG
	ready []time.Duration // by server: time at which it sends again after a restart
	pairs [][]pair        // reports by observer, then by subject
	dirty bool
}

// pair is what one server (the observer) has been told about another (the subject), and what it
// will be told next.
type pair struct {
	alive, soon bool
	deaths      uint64
	change      uint32 // number of the latest change; timers of earlier ones are ignored
}

// Times of the oracle besides config.discovery.
const (
	returnLeast = 200 * time.Millisecond // shortest time until observers notice that a server is back
	returnMost  = 600 * time.Millisecond
	resync      = time.Second // for this time after its pause, a server does not know which others are alive
)

func (o *oracle) init(n *network) {
	o.net = n
	if !o.on() {
		return
	}
	o.pcg.Seed(n.cfg.Seed, 0x0AC1E)
	o.ready, o.pairs = make([]time.Duration, n.cfg.servers), make([][]pair, n.cfg.servers)
	for i := range o.pairs {
		o.pairs[i] = make([]pair, n.cfg.servers)
		for k := range o.pairs[i] {
			known := o.net.cfg.AtFirst(sim.NodeID(i)) && o.net.cfg.AtFirst(sim.NodeID(k))
			o.pairs[i][k] = pair{alive: known, soon: known}
		}
	}
}

func (o *oracle) on() bool { return o.net.cfg.gossip == 0 }

// changed makes the oracle look again, because something was done to nodes or links.
func (o *oracle) changed() {
	if !o.on() || o.dirty || o.net.Control == nil {
		return
	}
	o.dirty = true
	o.net.At(o.net.Now(), o.look)
}

// ended handles the end of an incarnation: the next incarnation knows nothing about the others,
// and is silent for a time.
func (o *oracle) ended(id sim.NodeID) {
	if !o.on() || !o.net.isServer(id) {
		return
	}
	for k := range o.pairs[id] {
		o.pairs[id][k] = pair{change: o.pairs[id][k].change + 1}
	}
	o.ready[id] = o.net.Now() + o.net.cfg.discovery*5/4
	o.net.At(o.ready[id], o.changed)
	o.changed()
}

// resumed handles the end of a pause: the server starts its timeouts anew, and cannot judge at
// first.
func (o *oracle) resumed(id sim.NodeID) {
	if !o.on() || !o.net.isServer(id) {
		return
	}
	for k := range o.pairs[id] {
		p := &o.pairs[id][k]
		p.soon = p.alive
		p.change++
	}
	n := o.net
	n.Command(id, "unsure")
	n.At(n.Now()+resync, func() {
		if !n.Paused(id) {
			n.Command(id, "sure")
		}
	})
	o.changed()
}

// look computes for each server which others it knows to be alive, and schedules reports of the
// changes.
func (o *oracle) look() {
	o.dirty = false
	n := o.net
	speaks := make([]bool, n.cfg.servers)
	for k := range speaks {
		id := sim.NodeID(k)
		speaks[k] = n.runs(id) && n.Now() >= o.ready[k]
	}
	for i := range o.pairs {
		observer := sim.NodeID(i)
		if !n.runs(observer) {
			continue
		}
		hears := o.net.groundTruth.hears(observer, speaks)
		for k := range o.pairs[i] {
			if p := &o.pairs[i][k]; k != i && p.soon != hears[k] {
				o.plan(observer, sim.NodeID(k), p)
			}
		}
	}
}

// plan schedules a report to an observer that a server has died or come back. If the server's state
// changes back before the report is due, there is no report.
func (o *oracle) plan(observer, subject sim.NodeID, p *pair) {
	p.soon = !p.soon
	p.change++
	change := p.change
	least, most := o.net.cfg.discovery*4/5, o.net.cfg.discovery
	if p.soon {
		least, most = returnLeast, returnMost
	}
	at := o.net.Now() + least + time.Duration(o.pcg.Uint64()%uint64(most-least+1))
	o.net.At(at, func() {
		if p.change == change && p.alive != p.soon && o.net.runs(observer) {
			o.tell(observer, subject, p)
		}
	})
}

func (o *oracle) tell(observer, subject sim.NodeID, p *pair) {
	word := "alive "
	if p.alive = p.soon; !p.alive {
		word = "dead "
		p.deaths++
	}
	o.net.Command(observer, word+subject.String()+" "+strconv.FormatUint(p.deaths, 10))
}
