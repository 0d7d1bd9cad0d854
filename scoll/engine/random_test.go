package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/scoll/tree"
	"ulnet/scoll/wire"
)

// plan is a cluster, the behavior of its services, and faults.
type plan struct {
	seed    uint64
	rng     *rand.Rand
	n       int
	shape   wire.Tree
	root    sim.NodeID
	kind    int // how the group is made: delayed, immediate, out-of-band
	log     *history.Log
	control sim.Control
	c       *cluster
	faulty  map[sim.NodeID]bool // nodes that a fault or an abort may concern
}

// TestRandomPlans: SC-3, SC-139 and G-SC-3: after any faults a broadcast ends, and the root
// reports exactly those members as missing that did not answer.
func TestRandomPlans(t *testing.T) {
	spec.Covers(t, "SC-3", "SC-139", "G-SC-3")
	plans := effort.Of(60, 120, 10_000)
	faulty := 0
	for seed := range uint64(plans) {
		if runPlan(t, seed) {
			faulty++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if faulty < plans/3 {
		t.Errorf("only %d of %d plans had consequences", faulty, plans)
	}
}

func runPlan(t *testing.T, seed uint64) (faulty bool) {
	p := &plan{seed: seed, rng: rand.New(rand.NewPCG(seed, 9)), log: history.New(), faulty: make(map[sim.NodeID]bool)}
	p.n = 2 + p.rng.IntN(40)
	p.shape = []wire.Tree{{}, {Type: wire.KNomial, K: 3}, {Type: wire.KNomial, K: 4}, {Type: wire.KAry, K: 1}, {Type: wire.KAry, K: 2}, {Type: wire.KAry, K: 3}, {Type: wire.KAry, K: 100}}[p.rng.IntN(7)]
	p.root = sim.NodeID(p.rng.IntN(p.n))
	p.kind = p.rng.IntN(3)
	p.c = newCluster(t, p.n, func(c *cluster, cfg *sim.Config[*packet]) {
		c.watch = p.rng.IntN(2) == 0
		c.service = p.service
		c.cfg = Config{RTT: 4 * time.Millisecond, Guard: 2 * time.Millisecond}
		quality := link.Quality{Latency: link.Dist{Base: time.Millisecond, Spread: 900 * time.Microsecond, Shape: link.Uniform}}
		quality.Duplicate = float64(p.rng.IntN(3)) / 10
		cfg.Topology, cfg.Seed = &sim.Flat{Link: quality}, seed
		history.Watch(p.log, cfg)
	})
	p.control = p.log.Control(p.c.net)
	p.c.run(time.Millisecond)
	group := p.group()
	p.faults()
	for value := uint64(1); value <= 3; value++ {
		faulty = p.broadcast(t, group, value) || faulty
	}
	for _, v := range history.ExactFailureSet(p.log, sim.NodeRange(0, sim.NodeID(p.n-1))) {
		t.Errorf("seed %d: %v", seed, v)
	}
	return faulty
}

// service draws how the service of a node behaves.
func (p *plan) service(sim.NodeID) (b behaviour) {
	short := func() time.Duration { return time.Duration(p.rng.IntN(40)) * time.Millisecond }
	switch p.rng.IntN(24) {
	case 0:
		b.mute = true
	case 1:
		b.reject = wire.EPERM
	case 2:
		b.fail = wire.EIO
	case 3:
		b.timeout = short() / 2
	case 4:
		b.late = short()
	case 5:
		b.late, b.fail = short(), wire.EIO
	case 6:
		b.deaf = true
	case 7:
		b.deaf, b.mute = true, true
	case 8:
		b.below, b.fail = true, []wire.Status{wire.OK, wire.EIO}[p.rng.IntN(2)]
	case 9:
		b.parts, b.mute = 1+p.rng.IntN(4), p.rng.IntN(2) == 0
	case 10:
		b.think = short() / 2
	}
	return b
}

func (p *plan) group() wire.GroupID {
	if p.kind == 2 {
		return wire.GroupID{Incarnation: 5, Index: 6}
	}
	if p.kind == 1 {
		for _, n := range p.c.nodes { // an immediate creation needs all nodes
			n.service.reject = wire.OK
		}
	}
	return p.c.create(p.root, p.shape, p.kind == 1)
}

// faults draws aborts, deaths, pauses and partitions during the broadcasts.
func (p *plan) faults() {
	for range p.rng.IntN(3) {
		id := sim.NodeID(p.rng.IntN(p.n))
		p.faulty[id] = true
		p.control.At(p.control.Now()+time.Duration(p.rng.IntN(60_000))*time.Microsecond, func() { p.c.net.Command(id, "abort") })
	}
	for range p.rng.IntN(4) {
		id := sim.NodeID(p.rng.IntN(p.n))
		if id == p.root {
			continue
		}
		p.faulty[id] = true
		at := p.control.Now() + time.Duration(p.rng.IntN(60_000))*time.Microsecond
		switch p.rng.IntN(4) {
		case 0:
			p.control.At(at, func() { p.control.Kill(id) })
		case 1:
			p.control.At(at, func() { p.control.Crash(id) })
		case 2:
			p.control.At(at, func() { p.control.Pause(id) })
			p.control.At(at+time.Duration(p.rng.IntN(200))*time.Millisecond, func() { p.control.Resume(id) })
		case 3:
			p.control.At(at, func() { p.control.Cut(sim.Nodes(id), sim.AllNodes) })
			p.control.At(at+time.Duration(p.rng.IntN(100))*time.Millisecond, func() { p.control.Heal() })
		}
	}
}

// broadcast sends a broadcast and checks its result.
func (p *plan) broadcast(t *testing.T, group wire.GroupID, value uint64) (faulty bool) {
	t.Helper()
	text := fmt.Sprint("value ", value)
	root := p.c.nodes[p.root]
	o := Outgoing{
		Payload: []byte(text), Processing: time.Duration(p.rng.IntN(3)) * 5 * time.Millisecond,
		Carry: []int{-1, 40, 200, 0}[p.rng.IntN(4)],
	}
	if p.rng.IntN(3) == 0 {
		size := 1 + p.rng.IntN(5*wire.MinSegment)
		o.Bulk, root.bulk = uint64(size), make([]byte, size)
		o.Segment = uint32(p.rng.IntN(2) * wire.MinSegment)
	}
	if p.kind == 2 {
		o.Flags, o.Members, o.Tree = wire.FlagOOB, p.c.members, p.shape
	}
	p.tell(p.root, history.Send, p.root, value)
	before := len(root.results)
	p.c.start(p.root, group, o)
	for range 100 {
		if p.c.run(20 * time.Millisecond); len(root.results) > before || len(root.refused) > 0 {
			break
		}
	}
	if len(root.refused) > 0 { // refused because discovery has noticed a death
		if !p.c.watch || !slices.Contains(root.refused, wire.EHOSTDOWN) {
			t.Errorf("seed %d: refused %v", p.seed, root.refused)
		}
		root.refused = nil
		return true
	}
	if len(root.results) != before+1 {
		t.Fatalf("seed %d: broadcast %d of %d nodes hangs", p.seed, value, p.n)
	}
	p.check(t, root.results[before], text, value)
	p.checkReasons(t, root.results[before], &o)
	return len(root.results[before].missing) > 0
}

func (p *plan) check(t *testing.T, r result, text string, value uint64) {
	t.Helper()
	var missing []int
	for _, e := range r.missing {
		missing = append(missing, int(e.Rank))
		p.tell(p.root, history.Unreached, sim.NodeID(e.Rank), value)
	}
	for _, id := range r.answered {
		p.tell(sim.NodeID(id), history.Delivery, p.root, value)
	}
	all := append(slices.Clone(r.answered), missing...)
	if !slices.Contains(missing, int(p.root)) {
		all = append(all, int(p.root))
	}
	p.tell(p.root, history.Completion, p.root, value)
	slices.Sort(all)
	for i, id := range all {
		if i != id || len(all) != p.n {
			t.Fatalf("seed %d: of %d nodes %v answered, %v are missing", p.seed, p.n, r.answered, missing)
		}
	}
	for i, n := range p.c.nodes {
		if i != int(p.root) && (n.ran[text] > 1 || n.ran[text] == 0 && slices.Contains(r.answered, i)) {
			t.Errorf("seed %d: node %d ran %d times", p.seed, i, n.ran[text])
		}
	}
}

// checkReasons compares the missing members of a broadcast with the table of failures in
// docs/collectives.md.
func (p *plan) checkReasons(t *testing.T, r result, o *Outgoing) {
	t.Helper()
	shape, _ := p.shape.OrDefault().Topology()
	tree := tree.Tree{Topology: shape, N: p.n, Root: int(p.root)}
	for _, e := range r.missing {
		explained := false
		for rank, ok := int(e.Rank), true; ok && !explained; rank, ok = tree.Parent(rank) {
			explained = p.explains(rank, e, o)
		}
		if !explained {
			t.Errorf("seed %d: rank %d is missing without a reason: %v", p.seed, e.Rank, e.Status)
		}
	}
	for _, id := range r.answered {
		for rank, ok := id, true; ok; rank, ok = tree.Parent(rank) {
			s := &p.c.nodes[rank].service
			if rank != int(p.root) && (s.reject != wire.OK || rank == id && (s.mute || s.below || s.fail != wire.OK && !s.deaf)) && !p.faulty[sim.NodeID(rank)] {
				t.Errorf("seed %d: rank %d answered, although the service of rank %d does not", p.seed, id, rank)
			}
		}
	}
}

// explains reports whether what is wrong with a node explains why a member, itself or one below
// it, is missing.
func (p *plan) explains(rank int, e wire.Missing, o *Outgoing) bool {
	s := &p.c.nodes[rank].service
	itself, silent := rank == int(e.Rank), s.mute || s.deaf || s.late > 0 || s.think > 0 || s.timeout > 0 || s.parts > 1
	// the timeouts do not allow for a round trip for each segment, so segments may take too long.
	slow := o.Segment > 0 && o.Bulk > uint64(o.Segment) && rank != int(p.root)
	switch {
	case p.faulty[sim.NodeID(rank)]:
		return true
	case e.Status == wire.ELOST: // "ELOST for those below whose answers do not fit"
		return !itself && (silent || slow || s.fail != wire.OK) && o.Carry != 0
	case s.reject != wire.OK && rank != int(p.root): // "PreRequest returns an error": the subtree
		return e.Status == s.reject
	}
	return slow && e.Status == wire.ETIMEDOUT || itself && (e.Status == s.fail || // "IncomingRequest returns an error"
		silent && e.Status == wire.ETIMEDOUT || // "the service does not reply"
		s.below && e.Status == wire.EAGAIN) // "ReplyBelow": the status that it gave
}

// tell appends an event at a node to the history.
func (p *plan) tell(node sim.NodeID, kind history.Kind, subject sim.NodeID, value uint64) {
	p.log.Append(history.Record{
		At: p.control.Now(), Node: node, Incarnation: uint32(p.c.nodes[node].incarnation), Kind: kind, Subject: subject, Value: value,
	})
}

// TestSameTwice: two runs with the same seed are equal.
func TestSameTwice(t *testing.T) {
	var digests [2]uint64
	for i := range digests {
		c := newCluster(t, 30, func(_ *cluster, cfg *sim.Config[*packet]) {
			cfg.Hash = func(p **packet) uint64 {
				h := (*p).bits
				for _, b := range [][]byte{(*p).data, (*p).trailer, (*p).payload} {
					for _, x := range b {
						h = scramble(h + uint64(x))
					}
				}
				return h
			}
		})
		c.run(0)
		g := c.create(4, wire.Tree{Type: wire.KAry, K: 3}, true)
		c.net.At(c.net.Now()+2*time.Millisecond, func() { c.net.Crash(9) })
		c.broadcast(4, g, Outgoing{Payload: []byte("x")})
		digests[i] = c.net.Digest()
	}
	if digests[0] != digests[1] {
		t.Error("two runs differ")
	}
}

// TestJitter: SC-142: with one silent leaf, and latencies between half and one and a half
// times the mean, parents give up no other member than the leaf.
func TestJitter(t *testing.T) {
	spec.Covers(t, "SC-142")
	for seed := range effort.Of[uint64](200, 200, 1000) {
		c := newCluster(t, 16, func(c *cluster, cfg *sim.Config[*packet]) {
			c.cfg = Config{RTT: 2 * time.Millisecond}
			c.service = func(id sim.NodeID) behaviour { return behaviour{mute: id == 15} }
			latency := link.Dist{Base: time.Millisecond, Spread: 500 * time.Microsecond, Shape: link.Uniform}
			cfg.Seed, cfg.Topology = seed, &sim.Flat{Link: link.Quality{Latency: latency}}
		})
		c.run(0)
		c.want(c.broadcast(0, c.create(0, wire.Tree{}, false), Outgoing{}), 0, 15)
	}
}
