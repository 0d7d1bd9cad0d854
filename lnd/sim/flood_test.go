package sim

import (
	"math/rand/v2"
	"testing"
	"time"

	"ulnet/lnet/machine"
)

// flood tells everybody a number: who hears it first tells some others.
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

func floods(nodes, fanout int) func(Life, Program[rumour]) Program[rumour] {
	return func(l Life, _ Program[rumour]) Program[rumour] {
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

func BenchmarkEvents(b *testing.B) {
	const nodes = 100_000
	cfg := Config[rumour]{Nodes: nodes, Boot: func(l Life, _ Program[rumour]) Program[rumour] {
		p := &ticker{nodes: nodes}
		p.pcg.Seed(l.Seed, 0)
		return p
	}}
	flat := &Flat{}
	flat.Link.Latency.Base = 100 * time.Millisecond
	flat.Link.Latency.Spread = 50 * time.Millisecond
	flat.Link.Latency.Shape = 1
	flat.Link.Loss = 0.01
	cfg.Topology = flat
	n, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	_ = n.Run(2 * time.Second)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = n.RunEvents(1)
	}
}
