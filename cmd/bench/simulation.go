package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnet/lnetsim"
	"ulnet/lnet/machine/record"
)

// letter is the message of the simulated programs.
type letter [64]byte

// Parameters of the network for goals G-SIM-1 and G-SIM-4, in which every node sends a message
// to a random node each second.
const (
	simNodes    = 100_000
	simEvents   = 2_000_000 // number of events in a round
	simInterval = time.Second
	letterSize  = len(letter{})
)

var simLink = link.Quality{
	Latency: link.Dist{Base: 100 * time.Millisecond, Spread: 50 * time.Millisecond, Shape: link.Uniform}, Loss: 0.01,
}

// writer is the program of a simulated node.
type writer struct {
	pcg   rand.PCG
	nodes uint64
	next  time.Duration
	read  byte // sum of one byte of each received message, which the next message carries, so that messages are really read
}

// Step implements machine.Machine.
func (w *writer) Step(now time.Duration, in sim.Input[letter], out *sim.Output[letter]) time.Duration {
	switch {
	case in.Kind == sim.Message:
		w.read += in.Msg[1]
		return w.next
	case in.Kind == sim.Start:
		w.next = now + time.Duration(w.pcg.Uint64()%uint64(simInterval)) + 1
		return w.next
	}
	to := sim.NodeID(w.pcg.Uint64() % w.nodes)
	out.Sends = append(out.Sends, sim.Send[letter]{To: to, Msg: letter{1: w.read + 1}, Size: letterSize})
	w.next = now + simInterval
	return w.next
}

// bootWriters returns the boot function of the network. All programs are in one block of memory.
func bootWriters(nodes int) func(sim.Incarnation, sim.Program[letter]) sim.Program[letter] {
	all := make([]writer, nodes)
	return func(l sim.Incarnation, _ sim.Program[letter]) sim.Program[letter] {
		w := &all[l.Node]
		w.nodes = uint64(nodes)
		w.pcg.Seed(l.Seed, 0)
		return w
	}
}

// letters is the codec by which the recorder stores messages.
type letters struct{}

func (letters) Append(b []byte, m letter) []byte { return append(b, m[:]...) }

func (letters) Parse(b []byte) (m letter, err error) {
	if len(b) != letterSize {
		return m, errors.New("no letter")
	}
	return letter(b), nil
}

// writers creates the network.
func writers(nodes int, r *sim.Recorder[letter]) (*sim.Network[letter], error) {
	return sim.New(sim.Config[letter]{
		Nodes: nodes, Seed: 1, Topology: &sim.Flat{Link: simLink}, Boot: bootWriters(nodes), Recorder: r,
	})
}

// measureEvents measures G-SIM-1: the number of events that the simulator handles in a second.
func measureEvents(b *measurement) {
	net := must(writers(simNodes, nil))
	bare := newBareLoop(simNodes)
	ours := func() (time.Duration, error) {
		begin := time.Now()
		_, err := net.RunEvents(simEvents)
		return time.Since(begin), err
	}
	must(ours()) // the first call starts the nodes and allocates all memory, and is not counted
	sims := b.timed("simulator", simEvents, ours)
	heap := b.timed("bare heap", simEvents, func() (time.Duration, error) { return bare.run(simEvents), nil })
	b.alternate(b.rounds, sims, heap)
	allocations := allocationsOf(10, func() { must(net.RunEvents(simEvents / 100)) })
	b.add(
		sims.speed(heap, "events per second, 100 000 nodes, 64 B messages, loss and latency, to a bare heap loop", 0.5, 1e3, "%.1f M/s"),
		line{
			what: "allocations per event", ratio: allocations / (simEvents / 100), unit: "allocations", limit: 0,
			basis: fmt.Sprintf("%.0f in %d events", allocations, simEvents/100),
		},
	)
}

// measureStart measures goal G-SIM-2: the memory of a simulated idle node, and the time to start a
// million nodes.
func measureStart(b *measurement) {
	const nodes = 1_000_000
	boot := bootWriters(nodes) // this is not measured, because programs are not part of the simulator
	before := liveHeap()
	begin := time.Now()
	net := must(sim.New(sim.Config[letter]{Nodes: nodes, Seed: 1, Topology: &sim.Flat{Link: simLink}, Boot: boot}))
	b.check(net.Run(0))
	took := time.Since(begin)
	perNode := float64(liveHeap()-before) / nodes
	if steps := net.Stats().Steps; steps != nodes {
		b.check(fmt.Errorf("%d of %d nodes have started", steps, nodes))
	}
	b.add(
		line{what: "state of the simulator per idle node", ratio: perNode, unit: "B", limit: 200, basis: "1 000 000 nodes with a timer each"},
		line{what: "start of 1 000 000 nodes", ratio: took.Seconds(), unit: "s", limit: 10, basis: "wall time"},
	)
}

// measureStacks measures goal G-SIM-3: the wall time in which nodes with whole stacks exchange a
// million messages.
func measureStacks(b *measurement) {
	const nodes, messages = 1000, 1_000_000
	s := must(lnetsim.Exchange(nodes, messages, 1))
	b.add(line{
		what: "whole stacks: 1 000 nodes exchange 1 000 000 messages", ratio: s.Wall.Seconds(), unit: "s", limit: 30,
		basis: fmt.Sprintf("%d messages, %.1f s of virtual time, %.1f KiB per stack", s.Messages, s.Virtual.Seconds(), float64(s.BytesPerStack)/kibibyte),
	})
}

// measureReplay measures G-SIM-4: the speed of a replay, compared with that of the recorded run.
func measureReplay(b *measurement) {
	var recording bytes.Buffer
	var digest uint64
	runOnce := func(r *sim.Recorder[letter]) (time.Duration, error) {
		net := must(writers(simNodes, r))
		begin := time.Now()
		must(net.RunEvents(simEvents))
		if r != nil {
			b.check(r.Close())
		}
		digest = net.Digest()
		return time.Since(begin), nil
	}
	recorded := b.timed("recorded run", 1, func() (time.Duration, error) {
		recording.Reset()
		return runOnce(sim.NewRecorder(&recording, letters{}, record.Digests, nil))
	})
	replayed := b.timed("replay", 1, func() (time.Duration, error) { return replay(recording.Bytes(), digest) })
	without := b.timed("run", 1, func() (time.Duration, error) { return runOnce(nil) })
	b.alternate(b.rounds, recorded, replayed, without)
	seconds := func(c *contender) float64 { return median(c.each(0.5)) / 1e9 }
	b.add(line{
		what:  "speed of a replay to that of the recorded run",
		ratio: compare(replayed.rates(), recorded.rates()), limit: 0.5, least: true,
		basis: fmt.Sprintf("%.2f s : %.2f s, %.0f B per step; the run without a recording %.2f s; digests equal",
			seconds(replayed), seconds(recorded), float64(recording.Len())/simEvents, seconds(without)),
	})
}

// replay replays a recording and compares its digest with the wanted one.
func replay(recording []byte, want uint64) (time.Duration, error) {
	begin := time.Now()
	r, err := sim.Replay(bytes.NewReader(recording), letters{}, nil, func([]byte) (func(sim.Incarnation, sim.Program[letter]) sim.Program[letter], error) {
		return bootWriters(simNodes), nil
	})
	if err == nil && r.Digest != want {
		err = fmt.Errorf("replay has digest %x, the run %x", r.Digest, want)
	}
	return time.Since(begin), err
}
