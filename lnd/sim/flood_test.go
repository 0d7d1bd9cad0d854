package sim

import (
	"math/rand/v2"
	"testing"
	"time"

	"ulnet/lnet/machine"
)

// flood spreads a number: each node tells some others when it first hears it.
type flood struct {
	rng    *rand.Rand
	nodes  int
	fanout int
	heard  bool
}

type rumour [64]byte

func (f *flood) Step(now time.Duration, in Input[rumour], out *Output[rumour]) time.Duration {
	if !f.heard && (in.Kind == Message || in.Kind == Command) {
		f.heard = true
		out.Events = append(out.Events, Event{Kind: 1})
		for range f.fanout {
			out.Sends = append(out.Sends, Send[rumour]{To: NodeID(f.rng.IntN(f.nodes)), Msg: in.Msg, Size: 64})
		}
	}
	return machine.Never
}

func floods(nodes, fanout int) func(Incarnation, Program[rumour]) Program[rumour] {
	return func(l Incarnation, _ Program[rumour]) Program[rumour] {
		return &flood{rng: rand.New(rand.NewPCG(l.Seed, 0)), nodes: nodes, fanout: fanout}
	}
}

func TestFlood(t *testing.T) {
	heard := 0
	const nodes = 1000
	n, err := New(Config[rumour]{
		Nodes: nodes, Seed: 1, Boot: floods(nodes, 12),
		OnEvent: func(time.Duration, NodeID, Event) { heard++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	n.At(time.Second, func() { n.Command(3, "go") })
	if err := n.Run(2 * time.Second); err != nil {
		t.Fatal(err)
	}
	if heard != nodes {
		t.Errorf("%d of %d heard it", heard, nodes)
	}
}

// ticker sends a message to a random node every second.
type ticker struct {
	pcg   rand.PCG
	nodes uint64
	off   time.Duration
}

func (p *ticker) Step(now time.Duration, in Input[rumour], out *Output[rumour]) time.Duration {
	if in.Kind == Message {
		return p.next(now)
	}
	to := NodeID(p.pcg.Uint64() % p.nodes)
	out.Sends = append(out.Sends, Send[rumour]{To: to, Size: 64})
	return now + time.Second
}

func (p *ticker) next(now time.Duration) time.Duration {
	return now - (now-p.off)%time.Second + time.Second
}

// tickerConfig is a network of tickers with a link that delays and loses.
func tickerConfig(nodes int) Config[rumour] {
	return Config[rumour]{
		Nodes: nodes, Topology: flat("latency 100ms±50ms loss 1%"),
		Boot: func(l Incarnation, _ Program[rumour]) Program[rumour] {
			p := &ticker{nodes: uint64(nodes)}
			p.pcg.Seed(l.Seed, 0)
			p.off = time.Duration(p.pcg.Uint64() % uint64(time.Second))
			return p
		},
	}
}

func newTickers(t testing.TB, nodes int) *Network[rumour] {
	n, err := New(tickerConfig(nodes))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func BenchmarkEvents(b *testing.B) {
	n := newTickers(b, 100_000)
	_ = n.Run(2 * time.Second)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = n.RunEvents(1000)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/event")
}

// BenchmarkBareLoop measures the least work that the events need: a binary heap with as many
// events at the same distances, each with a message of 64 bytes that is copied twice.
func BenchmarkBareLoop(b *testing.B) {
	const nodes = 100_000
	var (
		h      binaryHeap
		r      rand.PCG
		seq    uint64
		in     rumour
		msgs   = make([]rumour, nodes)
		states = make([]uint64, nodes)
		free   []int32
	)
	for i := range nodes {
		free = append(free, int32(i))
		seq++
		h.push(heapEvent{newEvent(int64(r.Uint64()%1e9), evTimer, NodeID(i), 0), seq})
	}
	one := func() {
		e := h.pop()
		if e.kind() == evArrive {
			in = msgs[e.ref()]
			states[e.node] += uint64(in[0])
			free = append(free, e.ref())
			return
		}
		if r.Uint64()%100 != 0 {
			i := free[len(free)-1]
			free = free[:len(free)-1]
			msgs[i] = in
			seq++
			h.push(heapEvent{newEvent(e.at+50e6+int64(r.Uint64()%100e6), evArrive, NodeID(r.Uint64()%nodes), i), seq})
		}
		seq++
		h.push(heapEvent{newEvent(e.at+1e9, evTimer, NodeID(e.node), 0), seq})
	}
	b.ReportAllocs()
	for b.Loop() {
		for range 1000 {
			one()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/event")
}
