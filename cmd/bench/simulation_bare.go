package main

import (
	"math/rand/v2"
	"time"
)

// bareLoop is the event loop that the simulator is compared with: a binary heap of events. It
// generates the same events with the same random numbers and copies the same messages, but has
// no programs, faults or counters.
type bareLoop struct {
	heap    []bareEvent
	seq     uint64
	flights []letter
	free    []int32
	read    []byte
	pcg     []rand.PCG
	rng     *rand.Rand
}

type bareEvent struct {
	at     int64
	seq    uint64
	node   int32
	flight int32 // index of the message in flight; -1 if the event is a timer
}

func newBareLoop(nodes int) *bareLoop {
	l := &bareLoop{read: make([]byte, nodes), pcg: make([]rand.PCG, nodes), rng: rand.New(rand.NewPCG(1, 1))}
	for i := range nodes {
		l.pcg[i].Seed(uint64(i), 0)
		l.push(int64(l.pcg[i].Uint64()%uint64(simInterval)), int32(i), -1)
	}
	return l
}

// run handles a number of events and returns the wall time that they took.
func (l *bareLoop) run(events int) time.Duration {
	begin := time.Now()
	for range events {
		e := l.pop()
		if e.flight >= 0 {
			l.read[e.node] += l.flights[e.flight][1]
			l.free = append(l.free, e.flight)
			continue
		}
		l.push(e.at+int64(simInterval), e.node, -1)
		to := int32(l.pcg[e.node].Uint64() % uint64(len(l.pcg)))
		if l.rng.Float64() < simLink.Loss {
			continue
		}
		i := l.flight()
		l.flights[i] = letter{1: l.read[e.node] + 1}
		l.push(e.at+int64(simLink.Latency.Draw(l.rng)), to, i)
	}
	return time.Since(begin)
}

func (l *bareLoop) flight() int32 {
	if n := len(l.free); n > 0 {
		i := l.free[n-1]
		l.free = l.free[:n-1]
		return i
	}
	l.flights = append(l.flights, letter{})
	return int32(len(l.flights) - 1)
}

func (a *bareEvent) before(b *bareEvent) bool {
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

func (l *bareLoop) push(at int64, node, flight int32) {
	l.seq++
	e := bareEvent{at, l.seq, node, flight}
	l.heap = append(l.heap, e)
	i := len(l.heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&l.heap[parent]) {
			break
		}
		l.heap[i] = l.heap[parent]
		i = parent
	}
	l.heap[i] = e
}

func (l *bareLoop) pop() bareEvent {
	first := l.heap[0]
	n := len(l.heap) - 1
	e := l.heap[n]
	l.heap = l.heap[:n]
	i := 0
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && l.heap[child+1].before(&l.heap[child]) {
			child++
		}
		if !l.heap[child].before(&e) {
			break
		}
		l.heap[i] = l.heap[child]
		i = child
	}
	l.heap[i] = e
	return first
}
