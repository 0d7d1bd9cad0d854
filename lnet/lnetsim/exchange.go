package lnetsim

import (
	"fmt"
	"runtime"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// ExchangeStats is the result of an [Exchange].
type ExchangeStats struct {
	Messages uint64        // LNet messages: PUTs and ACKs, and those of discovery
	Events   uint64        // number of events in the simulator
	Wall     time.Duration // real time from the first step to the last answer
	Virtual  time.Duration // virtual time that the exchange took
	// BytesPerStack is the memory of a started stack before its first message.
	BytesPerStack uint64
	Digest        uint64 // digest of all events; equal for equal arguments
}

// Exchange runs whole stacks (portals, lnet, discovery) on a network with a latency of 10 µs
// until they have exchanged about the given number of LNet messages. Each node sends PUTs of 64
// bytes with ACKs to the sixteen nodes that follow it, eight at a time. It returns an error
// unless every operation is answered exactly once.
func Exchange(nodes, messages int, seed uint64) (ExchangeStats, error) {
	var s ExchangeStats
	each := max((messages/2+nodes-1)/nodes, 1)
	topology := &sim.Flat{Link: link.Quality{Latency: link.Dist{
		Base: 10 * time.Microsecond, Spread: 2 * time.Microsecond, Shape: link.Uniform,
	}}}
	before := heap()
	n, err := newNetwork(config{
		Network:   scenario.Network{Nodes: nodes, Seed: seed, Topology: topology},
		Discovery: true, Operations: each, Partners: 16,
	})
	if err != nil {
		return s, err
	}
	if err := n.Run(0); err != nil {
		return s, err
	}
	s.BytesPerStack = (heap() - before) / uint64(nodes)
	began := time.Now()
	want := uint64(each) * uint64(nodes)
	for n.stats.Answered+n.stats.Failed < want {
		more, err := n.RunEvents(1 << 12)
		if err != nil {
			return s, err
		}
		if more == 0 {
			break
		}
	}
	s.Wall, s.Virtual = time.Since(began), n.Now()
	c := n.counters()
	s.Messages, s.Events, s.Digest = c.Messages, n.Control.Stats().Events, n.Digest()
	if c.Answered != want || c.Delivered != want || c.Failed+c.Twice+c.Phantoms > 0 {
		return s, fmt.Errorf("lnetsim: of %d operations %d were answered, %d failed, %d delivered, %d twice",
			want, c.Answered, c.Failed, c.Delivered, c.Twice)
	}
	return s, nil
}

// heap returns the bytes of the heap in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // again, because the first collection only moves the content of pools aside and runs finalizers
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
