package healthsim

import (
	"math/rand/v2"
	"strconv"
	"time"

	"ulnet/lnd/sim"
)

// oracle is discovery that knows: each server hears some time later who is gone,
// and who is back. As for gossip, gone is also who stands still, and who cannot
// be heard of over any way; a restarted server is silent until all have noticed
// its death; and a server that stood still begins to count anew.
type oracle struct {
	net   *Net
	pcg   rand.PCG
	ready []time.Duration // when a server speaks again
	pairs [][]pair        // by observer, then subject
	dirty bool
}

// pair is what one server was told of another, and what it will be.
type pair struct {
	alive, soon bool
	deaths      uint64
	change      uint32 // tells changes under way apart
}

// Times of the oracle besides Config.Discovery.
const (
	returnLeast = 200 * time.Millisecond // until a return is noticed
	returnMost  = 600 * time.Millisecond
	resync      = time.Second // for which a server is unsure that stood still
)

func (o *oracle) init(n *Net) {
	o.net = n
	if !o.on() {
		return
	}
	o.pcg.Seed(n.cfg.Seed, 0x0AC1E)
	o.ready, o.pairs = make([]time.Duration, n.cfg.Servers), make([][]pair, n.cfg.Servers)
	for i := range o.pairs {
		o.pairs[i] = make([]pair, n.cfg.Servers)
		for k := range o.pairs[i] {
			known := o.atFirst(sim.NodeID(i)) && o.atFirst(sim.NodeID(k))
			o.pairs[i][k] = pair{alive: known, soon: known}
		}
	}
}

func (o *oracle) on() bool { return o.net.cfg.Gossip == 0 && !o.net.cfg.Stacks }

// atFirst reports whether a node begins with the run.
func (o *oracle) atFirst(id sim.NodeID) bool {
	return o.net.cfg.StartAt == nil || o.net.cfg.StartAt(id) <= 0
}

// changed notes that something was done to nodes or links.
func (o *oracle) changed() {
	if !o.on() || o.dirty || o.net.Control == nil {
		return
	}
	o.dirty = true
	o.net.Control.At(o.net.Now(), o.look)
}

// ended hears that an incarnation has ended: the next one knows nothing, and is silent
// for a while.
func (o *oracle) ended(id sim.NodeID) {
	if !o.on() || !o.net.isServer(id) {
		return
	}
	for k := range o.pairs[id] {
		o.pairs[id][k] = pair{change: o.pairs[id][k].change + 1}
	}
	o.ready[id] = o.net.Now() + o.net.cfg.Discovery*5/4
	o.net.Control.At(o.ready[id], o.changed)
	o.changed()
}

// resumed hears that a server goes on: it counts its silent peers anew, and is
// unsure at first.
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
	n.Control.At(n.Now()+resync, func() {
		if !n.Paused(id) {
			n.Command(id, "sure")
		}
	})
	o.changed()
}

// look sees who can be heard by whom, and lets them know in time.
func (o *oracle) look() {
	o.dirty = false
	n := o.net
	speaks := make([]bool, n.cfg.Servers)
	for k := range speaks {
		id := sim.NodeID(k)
		speaks[k] = n.Up(id) && !n.Paused(id) && n.Now() >= o.ready[k]
	}
	for i := range o.pairs {
		observer := sim.NodeID(i)
		if !n.Up(observer) || n.Paused(observer) {
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

// plan has a server told that another is gone or back, unless that changes again.
func (o *oracle) plan(observer, subject sim.NodeID, p *pair) {
	p.soon = !p.soon
	p.change++
	change := p.change
	least, most := o.net.cfg.Discovery*4/5, o.net.cfg.Discovery
	if p.soon {
		least, most = returnLeast, returnMost
	}
	at := o.net.Now() + least + time.Duration(o.pcg.Uint64()%uint64(most-least+1))
	o.net.Control.At(at, func() {
		if p.change == change && p.alive != p.soon && o.net.Up(observer) && !o.net.Paused(observer) {
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
