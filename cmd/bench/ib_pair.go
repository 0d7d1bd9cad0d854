package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"

	"ulnet/cmd/bench/worker"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/nid"
	localnode "ulnet/portals/node"
)

// This file sets up both ends for the measurements of o2iblnd. All RoCE traffic of an address
// uses the same port, so each run of bench has addresses of its own, which are derived from its
// process ID.

var o2ib = nid.MakeNet(nid.O2IB, 0)

func ibAddrs(pid int) (own, peer netip.Addr) {
	a := [4]byte{127, 64 + byte(pid>>15)&63, byte(pid >> 7), byte(pid << 1)}
	own = netip.AddrFrom4(a)
	a[3]++
	return own, netip.AddrFrom4(a)
}

// openIBNode starts a node over o2iblnd, and opens its device.
func openIBNode(addr netip.Addr) (*node, verbs.Device) {
	n := newNodeOn(o2ib, addr, localnode.Config{})
	return n, must(softroce.Open(verbs.OpenConfig{Addr: addr, Clock: n.clock}))
}

// ibPeer is the side of the other process in measurements of o2iblnd.
type ibPeer struct {
	floor *floorEnd
	dev   verbs.Device
	node  *responder
}

func newIBPeer(ctx context.Context) *ibPeer {
	floor := newFloorEnd(peerAddr)
	go floor.serve()
	_, self := ibAddrs(os.Getppid())
	n, dev := openIBNode(self)
	p := &ibPeer{floor, dev, &responder{node: n}}
	p.node.open()
	go p.node.echoFromEQ(ctx)
	serveVerbs(dev)
	return p
}

func (p *ibPeer) close() {
	p.floor.close()
	p.node.close()
	_ = p.dev.Close() // an error makes no difference, because the process ends
}

// ibPair is this process's side of a pair of processes that are connected to each other.
type ibPair struct {
	floor *floorEnd
	verbs *verbsClient
	node  *initiator
	flood [2]*flood // streams of small PUTs: 0 over socklnd, 1 over o2iblnd
}

// pair returns the ends for the goals of o2iblnd, which it starts on the first call.
func (b *bench) pair(ctx context.Context) *ibPair {
	if b.ib != nil {
		return b.ib
	}
	port, err := worker.Ask[uint16](b.peer, "ib", nil)
	if err != nil {
		succeed(fmt.Errorf("start o2iblnd in the other process: %w", err))
	}
	p := &ibPair{floor: newFloorEnd(ownAddr)}
	b.ends = append(b.ends, p.floor.close)
	p.floor.socket.connect(netip.AddrPortFrom(peerAddr, port))
	own, peer := ibAddrs(os.Getpid())
	n, dev := openIBNode(own)
	b.ends = append(b.ends, func() { _ = dev.Close() }, n.close) // an error makes no difference after the measurements
	p.node = n.initiate(ctx, processOf(o2ib, peer))
	for i, by := range []*initiator{b.node, p.node} {
		p.flood[i] = newFlood(by.node, by.target)
	}
	p.verbs = dialVerbs(ctx, dev, peer)
	b.ib = p
	return p
}
