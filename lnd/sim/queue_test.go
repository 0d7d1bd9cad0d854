package sim

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"ulnet/lnd/lndtest/effort"
)

// sortedList does what a queue must do, in the simplest way.
type sortedList []event

func (l *sortedList) push(e event) {
	i := len(*l)
	for i > 0 && (*l)[i-1].at > e.at {
		i--
	}
	*l = append(*l, event{})
	copy((*l)[i+1:], (*l)[i:])
	(*l)[i] = e
}

func (l *sortedList) pop(until int64) (event, bool) {
	if len(*l) == 0 || (*l)[0].at > until {
		return event{}, false
	}
	e := (*l)[0]
	*l = (*l)[1:]
	return e, true
}

// distances are distributions of how far ahead events are pushed.
var distances = map[string]func(r *rand.Rand) int64{
	"now":         func(*rand.Rand) int64 { return 0 },
	"one instant": func(*rand.Rand) int64 { return 1e9 },
	"near":        func(r *rand.Rand) int64 { return r.Int64N(100) },
	"uniform":     func(r *rand.Rand) int64 { return r.Int64N(1e8) },
	"exponential": func(r *rand.Rand) int64 { return int64(r.ExpFloat64() * 1e6) },
	"two heaps":   func(r *rand.Rand) int64 { return 1000 + r.Int64N(2)*1e10 },
	"all scales":  func(r *rand.Rand) int64 { return r.Int64() >> (r.IntN(62) + 1) >> 1 },
}

func TestQueueOrder(t *testing.T) {
	for name, distance := range distances {
		t.Run(name, func(t *testing.T) {
			const seed = 1
			r := rand.New(rand.NewPCG(seed, 0))
			var q queue
			var want sortedList
			now, pushed := int64(0), int32(0)
			for range 300 {
				for range r.IntN(200) {
					at := now + distance(r)
					if at < now { // the sum has overflowed, so take the last instant before the end of time
						at = never - 1
					}
					e := newEvent(at, evTimer, NodeID(pushed), 0)
					pushed++
					q.push(e)
					want.push(e)
				}
				until := now + distance(r)
				if until < now || r.IntN(4) == 0 {
					until = never
				}
				for range r.IntN(250) {
					got, ok := q.pop(until)
					exp, expOK := want.pop(until)
					if got != exp || ok != expOK {
						t.Fatalf("seed %d, event %d: got %v, %v, want %v, %v", seed, pushed, got, ok, exp, expOK)
					}
					if !ok {
						if until != never {
							now = until
						}
						break
					}
					now = got.at
				}
				if q.len() != len(want) {
					t.Fatalf("%d events, want %d", q.len(), len(want))
				}
			}
		})
	}
}

func TestQueueRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		var want sortedList
		now, pushed := int64(0), int32(0)
		push := func(t *rapid.T) {
			shift := rapid.IntRange(0, 40).Draw(t, "scale")
			for range rapid.SampledFrom([]int{1, 3, 20, 70}).Draw(t, "count") {
				e := newEvent(now+rapid.Int64Range(0, 5).Draw(t, "distance")<<shift, evTimer, NodeID(pushed), 0)
				pushed++
				q.push(e)
				want.push(e)
			}
		}
		pop := func(t *rapid.T) {
			until := now + rapid.Int64Range(0, 3).Draw(t, "distance")<<rapid.IntRange(0, 40).Draw(t, "scale")
			for range rapid.IntRange(1, 100).Draw(t, "count") {
				got, ok := q.pop(until)
				exp, expOK := want.pop(until)
				if got != exp || ok != expOK {
					t.Fatalf("got %v, %v, want %v, %v", got, ok, exp, expOK)
				}
				if !ok {
					now = until
					return
				}
				now = got.at
			}
		}
		t.Repeat(map[string]func(*rapid.T){"push": push, "pop": pop})
	})
}

func TestQueueMemory(t *testing.T) {
	var q queue
	events := effort.Of(200_000, 1_000_000, 1_000_000)
	fill := func(at int64) {
		for i := range events {
			q.push(newEvent(at+int64(i)%1000, evTimer, NodeID(i), 0))
		}
	}
	fill(1e9)
	if perEvent := float64(len(q.blocks.chunks)<<chunkBits*256) / float64(events); perEvent > 20 {
		t.Errorf("%.1f bytes per event, want at most 20", perEvent)
	}
	chunks := len(q.blocks.chunks)
	for round := range int64(5) {
		for range events {
			if _, ok := q.pop(never); !ok {
				t.Fatal("an event is missing")
			}
		}
		fill((round + 2) * 1e9)
	}
	if len(q.blocks.chunks) > chunks+8 {
		t.Errorf("%d chunks after as many events came and went, %d before", len(q.blocks.chunks), chunks)
	}
}

func TestQueueAllocatesNothing(t *testing.T) {
	for name, distance := range distances {
		if name == "all scales" { // with these distances the sum e.at + distance(r) would overflow
			continue
		}
		r := rand.New(rand.NewPCG(1, 0))
		var q queue
		for i := range 10_000 {
			q.push(newEvent(distance(r), evTimer, NodeID(i), 0))
		}
		hold := func() {
			for range 1000 {
				e, _ := q.pop(never)
				e.at += distance(r)
				q.push(e)
			}
		}
		for range 50 {
			hold()
		}
		if n := testing.AllocsPerRun(100, hold); n != 0 {
			t.Errorf("%s: %v allocations per 1000 events", name, n)
		}
	}
}

// binaryHeap is a heap with which the queue is compared.
type binaryHeap []heapEvent

type heapEvent struct {
	event
	seq uint64
}

func (h binaryHeap) before(i, k int) bool {
	return h[i].at < h[k].at || h[i].at == h[k].at && h[i].seq < h[k].seq
}

func (h *binaryHeap) push(e heapEvent) {
	*h = append(*h, e)
	s := *h
	for i := len(s) - 1; i > 0; {
		parent := (i - 1) / 2
		if !s.before(i, parent) {
			break
		}
		s[i], s[parent] = s[parent], s[i]
		i = parent
	}
}

func (h *binaryHeap) pop() heapEvent {
	s := *h
	first, n := s[0], len(s)-1
	s[0] = s[n]
	s = s[:n]
	for i := 0; ; {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && s.before(child+1, child) {
			child++
		}
		if !s.before(child, i) {
			break
		}
		s[i], s[child] = s[child], s[i]
		i = child
	}
	*h = s
	return first
}

const benchEvents = 200_000

func BenchmarkQueue(b *testing.B) {
	for name, distance := range distances {
		if name == "all scales" { // with these distances the sum e.at + distance(r) would overflow
			continue
		}
		b.Run(name, func(b *testing.B) {
			var q queue
			r := rand.New(rand.NewPCG(1, 0))
			for i := range benchEvents {
				q.push(newEvent(distance(r), evTimer, NodeID(i), 0))
			}
			b.ReportAllocs()
			for b.Loop() {
				e, _ := q.pop(never)
				e.at += distance(r)
				q.push(e)
			}
		})
	}
}

func BenchmarkQueueBinaryHeap(b *testing.B) {
	var h binaryHeap
	distance := distances["uniform"]
	r := rand.New(rand.NewPCG(1, 0))
	seq := uint64(0)
	for i := range benchEvents {
		seq++
		h.push(heapEvent{newEvent(distance(r), evTimer, NodeID(i), 0), seq})
	}
	b.ReportAllocs()
	for b.Loop() {
		e := h.pop()
		seq++
		e.at, e.seq = e.at+distance(r), seq
		h.push(e)
	}
}
