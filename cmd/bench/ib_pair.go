package main

import (
	"context"
	"fmt"
	"net/netip"
)

// What the goals of o2iblnd are measured with, beside the nodes over TCP.

// ibPeer is what the other process has.
type ibPeer struct {
	floor *floorEnd
}

func newIBPeer(context.Context) (p *ibPeer, err error) {
	p = new(ibPeer)
	if p.floor, err = newFloorEnd(peerAddr); err != nil {
		return p, err
	}
	go p.floor.serve()
	return p, nil
}

func (p *ibPeer) close() { p.floor.close() }

// ibPair is what this process has, connected to the other.
type ibPair struct {
	floor *floorEnd
}

// pair returns what the goals of o2iblnd need of both processes.
func (b *bench) pair(context.Context) (*ibPair, error) {
	if b.ib != nil {
		return b.ib, nil
	}
	port, err := b.ask("ib")
	if err != nil {
		return nil, fmt.Errorf("start o2iblnd in the other process: %w", err)
	}
	p := new(ibPair)
	b.ib = p
	if p.floor, err = newFloorEnd(ownAddr); err != nil {
		return nil, err
	}
	p.floor.socket.connect(netip.AddrPortFrom(peerAddr, uint16(port)))
	return p, nil
}

func (p *ibPair) close() {
	if p.floor != nil {
		p.floor.close()
	}
}
