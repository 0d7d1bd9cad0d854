package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// plan is a group, its messages, and the faults that happen.
type plan struct {
	t        *testing.T
	seed     uint64
	rng      *rand.Rand
	w        *world
	n        int
	managers int
	loss     float64 // probability of loss for multicast datagrams
	cut      float64 // probability of loss for all messages
	fifo     bool
	crashed  map[sim.NodeID]bool
	begin    time.Duration
	texts    int
}

// TestRandomPlans: RM-2, RM-21, RM-28, RM-36 and RM-A8: after any faults, when a message is
// released, every member of its version that has not failed has delivered it exactly once. In
// the end no message is kept.
func TestRandomPlans(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-21", "RM-28", "RM-36", "RM-A8")
	plans := effort.Of(150, 150, 10_000)
	if effort.Race {
		plans = 30
	}
	for seed := range uint64(plans) {
		if runPlan(t, seed); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func runPlan(t *testing.T, seed uint64) {
	p := &plan{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 17)), crashed: map[sim.NodeID]bool{}}
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("seed %d: %v", seed, r)
		}
	}()
	p.n = 1 + p.rng.IntN(20)
	p.managers = min(1+p.rng.IntN(3), p.n)
	p.loss = []float64{0, 0.01, 0.1, 0.4, 1}[p.rng.IntN(5)]
	p.cut = []float64{0, 0, 0.02, 0.1}[p.rng.IntN(4)]
	p.fifo = p.rng.IntN(2) == 0
	p.w = newWorld(t, p.n, p.configure)
	p.w.form(p.n)
	p.begin = p.w.net.Now()
	p.schedule()
	p.w.run(3 * time.Second)
	p.loss, p.cut = 0, 0
	for range 60 {
		if p.w.run(time.Second); p.over() {
			break
		}
	}
	p.judge()
}

func (p *plan) configure(w *world, cfg *sim.Config[*packet]) {
	w.managers = p.managers
	w.manager = ManagerConfig{Window: 4 + p.rng.IntN(30), Fragment: 16 + p.rng.IntN(100)}
	w.cfg.FIFO, w.cfg.Capacity = p.fifo, p.rng.IntN(2)*4000
	w.cfg.MTU = []int{0, 2048, wire.HeaderSize + 20}[p.rng.IntN(3)]
	w.cfg.Faults = Faults{Acks: []float64{0, 0.1}[p.rng.IntN(2)]}
	w.loss = func(_, _ sim.NodeID, q *packet) bool {
		return q.cast && p.rng.Float64() < p.loss || p.rng.Float64() < p.cut
	}
	quality := link.Quality{Latency: link.Dist{Base: oneWay, Spread: oneWay * 9 / 10, Shape: link.Uniform}}
	quality.Duplicate = float64(p.rng.IntN(3)) / 10
	cfg.Topology, cfg.Seed = &sim.Flat{Link: quality}, p.seed
	w.onDeliver = p.delivered
	w.onRelease = p.released
}

// delivered checks that a message is delivered once, and in order if the plan demands that.
func (p *plan) delivered(h *host, g got) {
	for _, before := range h.got[:len(h.got)-1] {
		if before.origin != g.origin {
			continue
		}
		if before.seq == g.seq || p.fifo && before.seq > g.seq {
			p.t.Errorf("seed %d: node %d delivers %d of %v after %d", p.seed, h.id, g.seq, g.origin, before.seq)
		}
	}
}

// released checks that every member of the version that has not failed has delivered the
// message.
func (p *plan) released(h *host, s *sent) {
	for _, peer := range p.w.lists[s.version] {
		id := hostID(peer.id.NID)
		other := p.w.hosts[id]
		if other.m.self != peer.id || p.crashed[id] || slices.Contains(s.failed, peer.id) {
			continue
		}
		if n := other.delivered(s.data); n != 1 {
			p.t.Errorf("seed %d: at %v node %d releases %.20q, which node %d has delivered %d times", p.seed, p.w.net.Now(), h.id, s.data, id, n)
		}
	}
}

// schedule draws messages and faults for the next seconds.
func (p *plan) schedule() {
	for range 5 + p.rng.IntN(60) {
		p.texts++
		text := fmt.Sprint("m", p.texts, " ", long(p.rng.IntN(2)*p.rng.IntN(300)))
		id := sim.NodeID(p.rng.IntN(min(p.n, 4)))
		p.at(func() { p.w.net.Command(id, text) })
	}
	for range p.rng.IntN(4) {
		p.fault(sim.NodeID(p.rng.IntN(p.n)))
	}
}

func (p *plan) at(f func()) {
	p.w.net.At(p.begin+time.Duration(p.rng.IntN(1000))*time.Millisecond, f)
}

func (p *plan) fault(id sim.NodeID) {
	net := p.w.net
	switch p.rng.IntN(5) {
	case 0: // a node dies, forever or for some time
		again := p.rng.IntN(2) == 0
		if int(id) < p.managers && (id > 0 || p.managers == 1) {
			again = true // restart it, because one manager must stay
		}
		p.at(func() {
			if !net.Up(id) {
				return
			}
			net.Crash(id)
			p.crashed[id] = true
			p.news(id, "dead")
			if again {
				net.At(net.Now()+time.Second+time.Duration(p.rng.IntN(1000))*time.Millisecond, func() {
					net.Start(id, false)
					delete(p.crashed, id)
					p.news(id, "alive")
					if int(id) < p.managers {
						p.retell()
					}
					net.Command(id, "join")
				})
			}
		})
	case 1:
		p.at(func() { net.Pause(id) })
		net.At(p.begin+time.Duration(1001+p.rng.IntN(1000))*time.Millisecond, func() { net.Resume(id) })
	case 2:
		p.at(func() { net.Command(id, "leave") })
	case 3: // a node is reported dead
		p.at(func() { p.news(id, "dead") })
		net.At(p.begin+1100*time.Millisecond, func() { p.news(id, "alive") })
	case 4:
		p.at(func() { net.Cut(sim.Nodes(id), sim.AllNodes) })
		net.At(p.begin+time.Duration(1000+p.rng.IntN(1000))*time.Millisecond, func() { net.Heal() })
	}
}

// news reports a death to each manager, after a delay.
func (p *plan) news(id sim.NodeID, what string) {
	for i := range p.managers {
		p.w.net.At(p.w.net.Now()+time.Duration(p.rng.IntN(50))*time.Millisecond, func() {
			p.w.net.Command(sim.NodeID(i), fmt.Sprint(what, " ", int(id)))
		})
	}
}

// retell reports all deaths to the managers again, because a manager that has started since has not heard of
// them. A manager without a majority waits until an administrator says which nodes are gone for good
// (docs/multicast.md, "no majority is left").
func (p *plan) retell() {
	for id := range sim.NodeID(p.n) {
		if p.crashed[id] {
			p.news(id, "dead")
		}
	}
}

// over reports whether everything that can end has ended.
func (p *plan) over() bool {
	for id, h := range p.w.hosts {
		if p.crashed[sim.NodeID(id)] {
			continue
		}
		if slices.ContainsFunc(h.sent, func(s *sent) bool { return !s.done }) {
			return false
		}
		for _, s := range h.m.streams {
			if s.stable != s.head {
				return false
			}
		}
		if len(h.m.group.rosters) > 1 || len(h.m.held) > 0 {
			return false
		}
	}
	return true
}

func (p *plan) judge() {
	if p.over() {
		return
	}
	p.t.Errorf("seed %d: it does not end", p.seed)
	for id, h := range p.w.hosts {
		if p.crashed[sim.NodeID(id)] {
			p.t.Logf("node %d is down", id)
			continue
		}
		p.t.Logf("node %d: %v, usable %v, epoch %d, oldest %v, %d held", id, h.m.state, h.m.usable, h.m.epoch, h.m.oldest(), len(h.m.held))
		for _, s := range h.m.streams {
			if s.stable != s.head {
				p.t.Log("    ", s.describe())
			}
		}
		if h.g != nil {
			p.t.Logf("    manager %v: version %v usable %v free %v, %d members, %d leavers, departed %v", h.g.role, h.g.version, h.g.usable, h.g.free, len(h.g.members), len(h.g.leavers), h.g.departed)
		}
	}
}

// describe returns the state of a stream.
func (s *stream) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v in %v: rank %d of %d, parent %d, stable %d next %d head %d lost %v due %v", s.origin.id, s.roster.version, s.roster.self, len(s.roster.peers), s.parent, s.stable, s.next, s.head, s.lost, s.due)
	f := s.slot(s.stable)
	fmt.Fprintf(&b, "; first %+v", *f)
	for _, k := range s.children {
		fmt.Fprintf(&b, "; kid %d (%v) due %v %+v", k.rank, s.roster.peers[k.rank].id, k.due, *k.slot(s.stable))
	}
	return b.String()
}
