package main

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"ulnet/cmd/bench/worker"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet/nid"
)

// G-CO-3 compares setups. In a setup, one node, the hub, has one or more peers, the spokes. Each of
// them is a process, and all processes of a setup share the same cores.
const (
	corePuts    = 300_000
	coreTrips   = 60_000
	coreScaling = 1.8
)

var setups = []struct{ peers, cores int }{{1, 1}, {2, 2}, {4, 2}}

// star is a hub and its spokes: the addresses of the nodes, the hub's first, and their port.
type star struct {
	Addrs []netip.Addr
	Port  uint16
}

// spoke has the parameters of the process of a spoke: its address, and the port of all nodes.
type spoke struct {
	Addr netip.Addr
	Port uint16
}

// serveSpoke starts a node that answers the hub.
func serveSpoke(w *worker.Worker, s spoke) (ready struct{}) {
	w.Defer(newResponder(s.Addr, s.Port, manyCredits).close)
	return ready
}

// serveHub starts the node that sends to the spokes. The argument of its orders is a number of messages, and
// their result is how long these took: "put" sends this number of PUTs, spread over all spokes, and "call"
// makes 64 callers exchange this number of PUTs with the spokes.
func serveHub(w *worker.Worker, s star) (ready struct{}) {
	n := newNode(s.Addrs[0], s.Port, manyCredits)
	w.Defer(n.close)
	var targets []nid.ProcessID
	var floods []*flood
	for _, addr := range s.Addrs[1:] {
		targets = append(targets, processAt(addr))
		floods = append(floods, newFlood(n, processAt(addr)))
	}
	c := newCallers(n, targets)
	worker.Order(w, "put", func(count int) (time.Duration, error) { return runFloods(w.Context(), floods, count) })
	worker.Order(w, "call", func(count int) (time.Duration, error) {
		return c.run(w.Context(), bitsChannel, manyCallers, count)
	})
	return ready
}

// runFloods sends count PUTs, distributed evenly over the floods, which run at the same time.
func runFloods(ctx context.Context, floods []*flood, count int) (time.Duration, error) {
	var all sync.WaitGroup
	errs := make([]error, len(floods))
	began := time.Now()
	for i, f := range floods {
		all.Go(func() { _, errs[i] = f.run(ctx, count/len(floods), false) })
	}
	all.Wait()
	return time.Since(began), cmp.Or(errs...)
}

// coreKinds are the orders of a hub, with the number of messages per round.
var coreKinds = []struct {
	order, what string
	count       int
}{
	{"put", "8 B PUTs a second, one way, many open", corePuts},
	{"call", fmt.Sprintf("round trips a second of %d callers through a channel", manyCallers), coreTrips},
}

// measureCores measures goal G-CO-3: the rates of messages of a node with two and with four peers on
// two cores, compared with those of a node with one peer on one core.
func measureCores(b *measurement) {
	cores := must(allCores())
	if len(cores) < 2 {
		b.add(skipped(coreFigures(), fmt.Sprintf("%d core", len(cores)))...)
		return
	}
	var all []*contender // contenders by setup and, within a setup, by kind
	for i, s := range setups {
		hub := b.startStar(i, s.peers, cores[:s.cores])
		for _, k := range coreKinds {
			all = append(all, b.ordered(hub, k.order, b.some(k.count)))
		}
	}
	b.alternate(b.rounds, all...)
	for i, f := range coreFigures() {
		b.add(all[len(coreKinds)+i].speed(all[i%len(coreKinds)], f.what, coreScaling, 1e6, "%.0f k/s"))
	}
}

// coreFigures returns the names of the lines of G-CO-3, in the order of the contenders: one for each kind in
// each setup except the first setup, with which the others are compared.
func coreFigures() (list []figure[struct{}]) {
	for _, s := range setups[1:] {
		for _, k := range coreKinds {
			list = append(list, figure[struct{}]{what: fmt.Sprintf("%s, %d peers on two cores", k.what, s.peers)})
		}
	}
	return list
}

// ordered returns the contender that gives a hub an order.
func (b *measurement) ordered(hub *worker.Process, order string, count int) *contender {
	return &contender{name: "one peer on one core", run: func(*contender) (latencies, error) {
		took, err := worker.Ask[time.Duration](hub, order, count)
		return latencies{float64(took) / float64(count)}, err
	}}
}

// startStar starts the nth setup with the given number of peers on the given cores, and returns the hub.
func (b *measurement) startStar(nth, peers int, cores []string) *worker.Process {
	s := star{}
	for i := range peers + 1 {
		s.Addrs = append(s.Addrs, netip.AddrFrom4([4]byte{127, 0, byte(90 + nth), byte(i + 1)}))
	}
	s.Port = must(loopback.FreePort(s.Addrs...))
	for _, addr := range s.Addrs[1:] {
		b.serve("spoke", spoke{addr, s.Port}, onCores(cores...))
	}
	return b.serve("hub", s, onCores(cores...))
}
