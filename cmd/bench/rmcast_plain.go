package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"
)

// plainGroup is the group address of the plain program.
var plainGroup = netip.MustParseAddr("239.77.0.1")

// The first byte of a plain datagram tells receivers how to handle it.
const (
	plainAnswered = 1 // receivers acknowledge the datagram; the next 8 bytes are the time to poll before waiting, in ns
	plainCounted  = 2
)

// plainCaster is a member of the plain Go program that does the same as rmcast. The root
// multicasts the payload. A member waits for the payload, and for an acknowledgement of 8 bytes
// from each of its children in the same tree as that of rmcast. Then it writes an
// acknowledgement to its parent. Each member has one goroutine with blocking calls, which can
// poll its sockets for a while before it waits. Losses are not repaired.
type plainCaster struct {
	tree    rawMember // its TCP connections carry the acknowledgements up the tree
	out, in *net.UDPConn
	inbound lookout
	ackFrom []lookout // readers of the children's acknowledgements
	blasted atomic.Uint64
	left    chan struct{} // closed when serve has returned
}

func newPlainCaster(setup memberSetup) *plainCaster {
	self := netip.AddrPortFrom(setup.Addrs[setup.Rank], 0)
	p := &plainCaster{left: make(chan struct{})}
	p.tree.listener = must(net.Listen("tcp", self.String()))
	to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(plainGroup, setup.Port+1))
	p.out = must(net.DialUDP("udp4", net.UDPAddrFromAddrPort(self), to))
	p.in = must(net.ListenMulticastUDP("udp4", interfaceOf(self.Addr()), to))
	_ = p.in.SetReadBuffer(4 << 20) // the system may grant less, as it may to the driver of rmcast
	p.inbound.open(p.in, 64<<10)
	return p
}

// interfaceOf returns the interface that has an address. A loopback address need not be
// configured: it is enough that it is in the subnet of the interface, such as 127.0.0.0/8.
func interfaceOf(addr netip.Addr) *net.Interface {
	all := must(net.Interfaces())
	for i := range all {
		for _, a := range must(all[i].Addrs()) {
			if p, err := netip.ParsePrefix(a.String()); err == nil && (p.Addr() == addr || addr.IsLoopback() && p.Contains(addr)) {
				return &all[i]
			}
		}
	}
	return must[*net.Interface](nil, fmt.Errorf("no interface has %v", addr))
}

// connect connects the tree. From then on, all members except the root acknowledge what they
// receive.
func (p *plainCaster) connect(rank int, addrs []netip.AddrPort) {
	p.tree.connect(casterTree(len(addrs)), rank, addrs)
	p.ackFrom = make([]lookout, len(p.tree.children))
	for i, c := range p.tree.children {
		p.ackFrom[i].open(c.(*net.TCPConn), 8)
	}
	if rank == 0 {
		close(p.left)
	} else {
		go p.serve() // runs until close is called
	}
}

func (p *plainCaster) serve() {
	defer close(p.left)
	look := time.Duration(0)
	var ack [8]byte
	for {
		b, err := p.inbound.read(look)
		if err != nil {
			return
		}
		if len(b) < 9 || b[0] != plainAnswered {
			p.blasted.Add(1)
			look = 0
			continue
		}
		look = time.Duration(binary.LittleEndian.Uint64(b[1:]))
		if err := p.collect(look); err != nil {
			return
		}
		if _, err := p.tree.parent.Write(ack[:]); err != nil {
			return
		}
	}
}

// collect waits for an acknowledgement from each child.
func (p *plainCaster) collect(look time.Duration) error {
	for i := range p.ackFrom {
		if err := p.ackFrom[i].readFull(8, look); err != nil {
			return err
		}
	}
	return nil
}

// oneByOne runs at the root. It sends each message after all members have acknowledged the one
// before.
func (p *plainCaster) oneByOne(o casterOrder) (latencies, error) {
	b := make([]byte, max(o.Bytes, 9))
	b[0] = plainAnswered
	binary.LittleEndian.PutUint64(b[1:], uint64(o.Look))
	took := make(latencies, 0, o.Count)
	for _, c := range p.tree.children {
		if err := c.SetReadDeadline(time.Now().Add(casterPatience)); err != nil {
			return nil, err
		}
	}
	for i := -o.Warm; i < o.Count; i++ {
		began := time.Now()
		if _, err := p.out.Write(b); err != nil {
			return nil, err
		}
		if err := p.collect(o.Look); err != nil {
			return nil, fmt.Errorf("plain multicast: %w", err)
		}
		if i >= 0 {
			took = append(took, float64(time.Since(began)))
		}
	}
	return took, nil
}

// blast sends datagrams as fast as the system accepts them.
func (p *plainCaster) blast(o casterOrder) (time.Duration, error) {
	b := make([]byte, o.Bytes)
	b[0] = plainCounted
	began := time.Now()
	for range o.Count {
		if _, err := p.out.Write(b); err != nil && !errors.Is(err, syscall.ENOBUFS) {
			return 0, err
		}
	}
	return time.Since(began), nil
}

func (p *plainCaster) close() {
	p.tree.close()
	p.out.Close()
	p.in.Close()
}
