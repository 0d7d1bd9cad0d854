package healthsim

import (
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// truth is what was done to nodes and links, as far as it excuses that a client
// is evicted.
type truth struct {
	net   *Net
	nodes []fate
	sides []int32 // of a partition; nil: none
	cuts  []severed
	// unlucky: links lose messages, or hold them for too long, or a clock is wrong:
	// from then on nobody is blamed.
	unlucky bool
	lossy   bool          // messages were lost, or kept back by partitions and cuts
	touched time.Duration // when something was last done
}

// fate is what has happened to a node.
type fate struct {
	paused  time.Duration // since when; with stopped
	excused time.Duration // until then
	began   time.Duration // the latest life
	stopped bool
	always  bool          // excused
	ended   time.Duration // when the client last ended; 0: it has not
	quit    bool          // it has, and its node has not
}

// severed is a cut.
type severed struct{ from, to sim.NodeSet }

func (t *truth) init(n *Net) {
	t.net, t.nodes = n, make([]fate, n.cfg.Servers+n.cfg.Clients)
	t.link(n.cfg.Topology)
}

// link looks whether links do what nobody can stand.
func (t *truth) link(topology sim.Topology) {
	switch l := topology.(type) {
	case *sim.Flat:
		t.quality(l.Link)
	case *sim.Groups:
		t.quality(l.Inside)
		t.quality(l.Between)
	}
}

func (t *truth) quality(q link.Quality) {
	late := q.Latency.Max()
	if q.Reorder > 0 {
		late += max(q.Hold.Max(), link.DefaultHold)
	}
	t.lossy = t.lossy || q.Loss > 0
	if q.Loss > 0 || late > t.net.timing.Ping/10 {
		t.unlucky = true
	}
}

// now is the time of the network.
func (t *truth) now() time.Duration {
	if t.net.Control == nil {
		return 0
	}
	return t.net.Now()
}

func (t *truth) began(id sim.NodeID) {
	f := &t.nodes[id]
	*f = fate{began: t.now(), excused: f.excused, always: f.always}
	t.touched = t.now()
}

// byHand notes that somebody evicts a client, which takes a while to arrive everywhere.
func (t *truth) byHand(id sim.NodeID) {
	t.excuse(id)
	t.touched = t.now()
}

// grace is how long after a trouble its traces may be seen.
func (t *truth) grace() time.Duration {
	return t.net.timing.Orphan + t.net.timing.Evict + 2*t.net.timing.Ping
}

// tolerable is how long a client may stand still without being evicted.
func (t *truth) tolerable() time.Duration {
	return t.net.timing.Evict - t.net.timing.Ping - t.net.timing.Ping/5
}

// excuse notes that a client asked for it.
func (t *truth) excuse(id sim.NodeID) {
	if int(id) < len(t.nodes) {
		t.nodes[id].always = true
	}
}

// end notes that a client has ended; without its node others of that go on.
func (t *truth) end(id sim.NodeID, quit bool) {
	t.nodes[id].ended, t.nodes[id].quit = t.now(), quit
}

func (t *truth) pause(id sim.NodeID) {
	t.nodes[id].paused, t.nodes[id].stopped = t.now(), true
}

func (t *truth) resume(id sim.NodeID) {
	f := &t.nodes[id]
	if f.stopped && t.now()-f.paused >= t.tolerable() {
		f.excused = t.now() + t.grace()
	}
	f.stopped = false
}

// separated excuses the clients that are apart from a server.
func (t *truth) separated() {
	t.lossy = true
	for k := range t.net.cfg.Clients {
		id := t.net.firstClient() + sim.NodeID(k)
		for s := range sim.NodeID(t.net.cfg.Servers) {
			if t.apart(id, s) || t.apart(s, id) {
				t.nodes[id].excused = max(t.nodes[id].excused, t.now()+t.grace())
				break
			}
		}
	}
}

func (t *truth) partition(sets []sim.NodeSet) {
	t.separated()
	t.sides = make([]int32, len(t.nodes))
	for i, s := range sets {
		for id := range s.All(len(t.nodes)) {
			t.sides[id] = int32(i + 1)
		}
	}
}

func (t *truth) heal() {
	t.separated()
	t.sides, t.cuts = nil, nil
}

func (t *truth) divided() bool { return t.sides != nil || len(t.cuts) > 0 }

// apart reports whether nothing gets from one node to another now.
func (t *truth) apart(from, to sim.NodeID) bool {
	if t.sides != nil && t.sides[from] != t.sides[to] {
		return true
	}
	for _, c := range t.cuts {
		if c.from.Has(from) && c.to.Has(to) {
			return true
		}
	}
	return false
}

// excused reports whether there is a reason for which a client may be evicted.
func (t *truth) excused(id sim.NodeID) bool {
	f := &t.nodes[id]
	if t.unlucky || f.always || t.now() < f.excused {
		return true
	}
	for s := range sim.NodeID(t.net.cfg.Servers) {
		if t.divided() && (t.apart(id, s) || t.apart(s, id)) {
			return true
		}
	}
	return false
}
