package softroce

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"

	"ulnet/lnd/hostaddr"
	"ulnet/lnd/readloop"
	"ulnet/lnd/verbs/softroce/wire"
)

// ethernet is the MTU of an interface whose MTU cannot be found out when its port is opened.
const ethernet = 1500

// udp is the network of the operating system: UDP sockets (wire.Network).
type udp struct {
	bind func(how net.ListenConfig, local netip.AddrPort) (net.PacketConn, error) // see Options; nil: a new socket
}

// udpConn has what a device uses of a UDP socket.
type udpConn interface {
	net.PacketConn
	syscall.Conn
	ReadFromUDPAddrPort(b []byte) (n int, from netip.AddrPort, err error)
	WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error)
}

// listen returns the socket of a device at an address.
func (u udp) listen(how net.ListenConfig, local netip.AddrPort) (udpConn, error) {
	network := "udp4"
	if local.Addr().Is6() {
		network = "udp6"
	}
	bind := u.bind
	if bind == nil {
		bind = func(how net.ListenConfig, local netip.AddrPort) (net.PacketConn, error) {
			return how.ListenPacket(context.Background(), network, local.String())
		}
	}
	c, err := bind(how, local)
	if err != nil {
		return nil, err
	}
	return c.(udpConn), nil
}

// Open opens a socket, which a goroutine reads (wire.Network).
func (u udp) Open(cfg wire.Config) (wire.Conn, error) {
	s, err := u.openPort(cfg)
	if err != nil {
		return nil, err
	}
	p := &udpPort{socket: s, receive: cfg.Receive, closing: make(chan struct{})}
	p.attr = wire.Attr{Local: s.local, Cut: s.cuts(), ReceiveBuffer: s.receiveBuffer}
	p.attr.MTU = cmp.Or(p.MTU(), ethernet)
	if !cfg.Group.IsValid() {
		if err := p.openAside(cfg.Local.Addr()); err != nil {
			_ = p.closeSockets()
			return nil, err
		}
	}
	p.reading.Go(p.read)
	return p, nil
}

// udpPort is an open UDP port of the operating system (wire.Conn).
type udpPort struct {
	socket  *socket
	aside   [wire.Doubts]*socket // sockets for bursts whose destination may not exist; nil: the port only receives
	attr    wire.Attr
	by      atomic.Int64 // index of the interface that had the address when MTU last looked
	receive func([]wire.Datagrams)
	reading sync.WaitGroup
	closing chan struct{}
	once    sync.Once // makes sure that closing is closed once

	hub      *hub // hub of the port; nil: its read loop is never handed over
	loop     readloop.Loop
	watchdog readloop.Watchdog
	list     []wire.Datagrams // datagrams that a follower received in Await
}

// read passes on arriving datagrams until the port is closed.
func (p *udpPort) read() {
	for passOn := p.passOn; ; {
		switch err := p.socket.serve(passOn); {
		case errors.Is(err, net.ErrClosed):
			return
		case err == nil:
			p.handOver()
		}
	}
}

// Attr describes the port (wire.Conn).
func (p *udpPort) Attr() wire.Attr { return p.attr }

// openAside opens the sockets for bursts whose destination may not exist. Nothing is sent to their ports.
func (p *udpPort) openAside(local netip.Addr) error {
	for why := wire.NoDoubt + 1; why < wire.Doubts; why++ {
		s, err := (udp{}).openSocket(netip.AddrPortFrom(local, 0), 1)
		if err != nil {
			return err
		}
		s.hasty = true
		p.aside[why], p.attr.Aside[why] = s, s.local
	}
	return nil
}

// MTU returns the present MTU of the port's interface, or 0 if that cannot be found out. MTU looks at all interfaces only
// if the interface that it found last does not have the address: looking at all takes long on a host that has many.
func (p *udpPort) MTU() int {
	addr := p.attr.Local.Addr()
	by, err := net.InterfaceByIndex(int(p.by.Load()))
	if err != nil || !hostaddr.Has(by, addr) {
		by, err = hostaddr.Interface(addr)
	}
	if err != nil {
		return 0
	}
	p.by.Store(int64(by.Index))
	return by.MTU
}

// Send sends bursts (wire.Conn).
func (p *udpPort) Send(list []wire.Burst) (done int, err error) {
	for done < len(list) && err == nil {
		s := p.socket
		if why := list[done].Doubt; why != wire.NoDoubt {
			s = p.aside[why]
		}
		n := together(list[done:])
		n, err = s.send(list[done : done+n])
		done += n
	}
	return done, err
}

// Close closes the port (wire.Conn).
func (p *udpPort) Close() error {
	err := p.closeSockets()
	p.once.Do(func() { close(p.closing) })
	p.reading.Wait()
	return err
}

func (p *udpPort) closeSockets() error {
	for _, s := range p.aside {
		if s != nil {
			_ = s.close()
		}
	}
	return p.socket.close()
}
