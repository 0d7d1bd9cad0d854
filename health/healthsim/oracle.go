package healthsim

import (
	"math/rand/v2"
	"strconv"
	"time"

	"ulnet/lnd/sim"
)

// oracle is a discovery service that knows the ground truth: it tells each server, with a
// delay, which other servers are dead or back. It imitates gossip in three points. A server is
// dead if it is paused, or if no path leads from it. A restarted server is silent until all
// others have noticed its death. A server that was paused restarts its time-outs.
type oracle struct {
	net   *network
	pcg   rand.PCG
	ready []time.Duration // by server: time at which it sends again after a restart
	pairs [][]pair        // reports by observer, then by subject
	dirty bool
}

// pair is what one server was told of another, and what it will be told next.
type pair struct {
	alive, soon bool
	deaths      uint64
	change      uint32 // number of the latest change: earlier timers are ignored
}

// Times of the oracle besides Config.Discovery.
const (
	returnLeast = 200 * time.Millisecond // bounds of the time until a return is noticed
	returnMost  = 600 * time.Millisecond
	resync      = time.Second // how long a server is unsure after a pause
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

// changed schedules a look after something was done to nodes or links.
func (o *oracle) changed() {
	if !o.on() || o.dirty || o.net.Control == nil {
		return
	}
	o.dirty = true
	o.net.At(o.net.Now(), o.look)
}

// ended handles the end of an incarnation: the next one knows nothing, and is silent for a time.
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

// resumed handles the end of a pause: the server begins its time-outs anew, and is unsure at first.
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

// look computes which servers each server hears of, and schedules reports of the changes.
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

// plan schedules the report that a server is dead or back, unless that changes again before.
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
