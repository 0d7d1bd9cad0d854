package main

import (
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/cmd/bench/worker"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// crowdSetup describes many nodes in one process that send to a target behind a router.
type crowdSetup struct {
	Nodes  int
	Router netip.Addr
	Port   uint16
	Target nid.NID
	Size   int
}

// senders are the nodes that send to the router.
type senders struct {
	setup crowdSetup
	nodes []*node
	done  []atomic.Uint64 // for each node, the number of its PUTs that were acknowledged
	stop  atomic.Bool
}

// serveCrowd starts the nodes of a worker.
func serveCrowd(w *worker.Worker, setup crowdSetup) (ready struct{}) {
	c := &senders{setup: setup, done: make([]atomic.Uint64, setup.Nodes)}
	w.Defer(func() {
		c.stop.Store(true)
		for _, n := range c.nodes {
			n.close()
		}
	})
	for i := range setup.Nodes {
		addr := netip.AddrFrom4([4]byte{127, 1, byte(i >> 8), byte(i)})
		c.nodes = append(c.nodes, newRailNode(railSetup{
			Networks: fmt.Sprintf("tcp(%v)", addr), Routes: fmt.Sprintf("tcp1 %v@tcp", setup.Router), Port: setup.Port,
		}))
	}
	worker.Order(w, "connect", c.connect)
	worker.Order(w, "send", returning(c.send))
	return ready
}

// connect makes each node send one PUT.
func (c *senders) connect(struct{}) (int, error) {
	var all sync.WaitGroup
	var once sync.Once
	var failed error
	slots := make(chan struct{}, 32)
	for i := range c.nodes {
		slots <- struct{}{}
		all.Go(func() {
			end := make(chan error, 1)
			if err := c.put(i, func(err error) { end <- err }); err != nil {
				end <- err
			}
			if err := <-end; err != nil {
				once.Do(func() { failed = fmt.Errorf("node %d of the crowd: %w", i, err) })
			}
			<-slots
		})
	}
	all.Wait()
	return len(c.nodes), failed
}

// send lets all nodes send for a time that the order sets, and returns how many PUTs of each
// node were acknowledged. Each node keeps several PUTs in flight.
func (c *senders) send(o railOrder) (counts []uint64) {
	c.stop.Store(false)
	for i := range c.done {
		c.done[i].Store(0)
	}
	for i := range c.nodes {
		for range window / 2 {
			succeed(c.lane(i))
		}
	}
	time.Sleep(o.For)
	for i := range c.done {
		counts = append(counts, c.done[i].Load())
	}
	c.stop.Store(true)
	return counts
}

// lane makes node i send PUTs, each of them when the previous one has been acknowledged.
func (c *senders) lane(i int) error {
	return c.put(i, func(err error) {
		if err != nil || c.stop.Load() {
			return
		}
		c.done[i].Add(1)
		_ = c.lane(i) // an error means that the node is closed, which ends the lane
	})
}

func (c *senders) put(i int, end func(error)) error {
	return putAcked(c.nodes[i].table, c.setup.Target, c.setup.Size, func(why error, _ int) { end(why) })
}

// Parameters of the many nodes that goal G-PA-5 needs.
const (
	crowdNodes = 1000
	crowdSize  = 16 << 10
)

// measureRouterPeers measures goal G-PA-5, over the loopback interface: the memory of a router with many peers, and
// how evenly it serves equal senders.
func measureRouterPeers(b *measurement) {
	near, far, sink := netip.MustParseAddr("127.2.0.1"), netip.MustParseAddr("127.2.0.2"), netip.MustParseAddr("127.2.0.3")
	port := must(loopback.FreePort(near, far, sink))
	router := b.serve("rail", railSetup{Networks: fmt.Sprintf("tcp(%v),tcp1(%v)", near, far), Forward: true, Port: port}, nil)
	b.serve("rail", railSetup{Networks: fmt.Sprintf("tcp1(%v)", sink), Routes: fmt.Sprintf("tcp %v@tcp1", far), Port: port}, nil)
	many := b.serve("crowd", crowdSetup{
		Nodes: b.some(crowdNodes), Router: near, Port: port, Target: nid.FromAddr(nid.MakeNet(nid.TCP, 1), sink), Size: crowdSize,
	}, nil)
	must(worker.Ask[int](many, "connect", nil))
	length := pick(b, 300*time.Millisecond, 10*time.Second, 10*time.Second)
	counts := must(worker.Ask[[]uint64](many, "send", railOrder{For: length}))
	state := must(worker.Ask[lnet.RouterSnapshot](router, "router", nil))
	used := must(worker.Ask[int64](router, "resident", nil))
	least, most, sum := counts[0], uint64(0), uint64(0)
	for _, n := range counts {
		least, most, sum = min(least, n), max(most, n), sum+n
	}
	basis := fmt.Sprintf("%d PUTs of %d KiB of %d peers in %v", sum, crowdSize>>10, b.some(crowdNodes), length)
	b.add(
		line{what: "router with 1000 peers: memory of the process", ratio: float64(used) / (1 << 20), unit: "MiB", limit: 256, basis: basis},
		line{what: "router with 1000 peers: memory of router buffers", ratio: float64(state.Memory) / (1 << 20), unit: "MiB", limit: 256, basis: basis},
		line{what: "router with 1000 peers: most of a sender beside the least", ratio: float64(most) / float64(max(least, 1)), limit: 1.5, basis: basis},
	)
}
