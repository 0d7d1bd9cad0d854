package sim

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"ulnet/lnet/machine"
)

// TestRates: the measured rates lie within four standard deviations of the configured ones. With random
// seeds, a correct simulator would fail in one run of 16 000. The seeds are fixed, so a run that passes
// once always passes.
func TestRates(t *testing.T) {
	const messages = 200_000
	const loss, duplicate, reorder = 0.03, 0.02, 0.05
	b := newBench(t, Config[int]{
		Nodes: 2, Seed: 3, Topology: flat("latency 1ms loss 3% duplicate 2% reorder 5% hold 4ms"),
	})
	b.send(0, 1, 64, make([]int, messages)...)
	b.run(time.Second)
	s := b.Stats()
	held := 0
	for _, a := range b.got {
		if a.at == 5*time.Millisecond {
			held++
		}
	}
	within := func(name string, count uint64, n, p float64) {
		t.Helper()
		if sigma := math.Sqrt(n * p * (1 - p)); math.Abs(float64(count)-n*p) > 4*sigma {
			t.Errorf("%d %s, want %.0f ± %.0f", count, name, n*p, 4*sigma)
		}
	}
	within("lost", s.Lost, messages, loss)
	within("duplicated", s.Duplicated, messages*(1-loss), duplicate)
	within("reordered", s.Reordered, messages*(1-loss), reorder)
	within("held", uint64(held), messages*(1-loss), reorder)
	if want := messages - s.Lost + s.Duplicated; s.Delivered != want || len(b.got) != int(want) {
		t.Errorf("%d delivered, %d seen, want %d", s.Delivered, len(b.got), want)
	}
}

// The latency that messages see has the mean and variance of its distribution.
func TestLatencyMoments(t *testing.T) {
	const messages = 100_000
	for text, want := range map[string]struct{ mean, deviation float64 }{ // mean and standard deviation in ms
		"latency 5ms":           {5, 0},
		"latency 5ms±3ms":       {5, 3 / math.Sqrt(3)},
		"latency 5ms~1ms":       {5, 1},
		"latency 5ms+exp(2ms)":  {7, 2},
		"latency 0ms+exp(10ms)": {10, 10},
	} {
		t.Run(text, func(t *testing.T) {
			b := newBench(t, Config[int]{Nodes: 2, Seed: 5, Topology: flat(text)})
			b.send(0, 1, 64, make([]int, messages)...)
			b.run(time.Minute)
			var sum, squares float64
			for _, a := range b.got {
				ms := float64(a.at) / 1e6
				sum += ms
				squares += (ms - want.mean) * (ms - want.mean)
			}
			mean, deviation := sum/messages, math.Sqrt(squares/messages)
			if math.Abs(mean-want.mean) > 4*want.deviation/math.Sqrt(messages)+1e-6 {
				t.Errorf("mean %v, want %v", mean, want.mean)
			}
			if math.Abs(deviation-want.deviation) > 0.02*want.deviation {
				t.Errorf("standard deviation %v, want %v", deviation, want.deviation)
			}
		})
	}
}

// A node whose steps take a fixed time, with messages that come at random, is
// an M/D/1 queue: by Pollaczek and Khinchine they wait rho*D/(2*(1-rho)).
func TestMD1(t *testing.T) {
	const (
		messages = 1_000_000
		service  = time.Millisecond
	)
	for _, rho := range []float64{0.3, 0.7} {
		r := rand.New(rand.NewPCG(7, 7))
		var waited, count float64
		n, err := New(Config[int64]{Nodes: 2, Boot: func(l Incarnation, _ Program[int64]) Program[int64] {
			sent := 0
			return script[int64](func(now time.Duration, in Input[int64], out *Output[int64]) time.Duration {
				if in.Kind == Message {
					waited += float64(int64(now) - in.Msg)
					count++
				}
				if l.Node != 0 || sent == messages {
					return machine.Never
				}
				if sent++; sent > 1 {
					out.Sends = append(out.Sends, Send[int64]{To: 1, Msg: int64(now)})
				}
				return now + 1 + time.Duration(r.ExpFloat64()*float64(service)/rho)
			})
		}})
		if err != nil {
			t.Fatal(err)
		}
		n.SetSlow(1, service)
		if err := n.Run(machine.Never); err != nil {
			t.Fatal(err)
		}
		if count != messages-1 {
			t.Fatalf("%v messages came, want %d", count, messages-1)
		}
		mean, want := waited/count, rho*float64(service)/(2*(1-rho))
		if math.Abs(mean-want) > 0.03*want {
			t.Errorf("load %v: messages waited %v, want %v", rho, time.Duration(mean), time.Duration(want))
		}
	}
}
