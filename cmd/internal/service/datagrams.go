package service

import (
	"context"
	"errors"
	"net"
	"net/netip"
)

// ListenPacket returns a UDP socket at an address: the inherited one of exactly this address, with
// the datagrams that have arrived meanwhile, or a new one, which goes to the manager's store.
func (s *Sockets) ListenPacket(how net.ListenConfig, local netip.AddrPort) (net.PacketConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	network := "udp6"
	if local.Addr().Is4() {
		network = "udp4"
	}
	if from := s.inherited[udpAt(local)]; from != nil {
		return s.resumePacket(from, how, network, local)
	}
	var c net.PacketConn
	err := s.bindLocked(udpAt(local), func() (err error) {
		c, err = how.ListenPacket(context.Background(), network, local.String())
		return err
	})
	if err != nil {
		return nil, err
	}
	udp := c.(*net.UDPConn)
	name := udpAt(addressOf(udp.LocalAddr())).name()
	_ = s.manager.store(udp, name) // store logs its errors
	return &datagrams{UDPConn: udp, stored: name, sockets: s}, nil
}

// resumePacket returns an inherited socket. The caller holds s.mu.
func (s *Sockets) resumePacket(from *inherited, how net.ListenConfig, network string, local netip.AddrPort) (net.PacketConn, error) {
	c, err := net.FilePacketConn(from.file)
	if err != nil {
		return nil, err
	}
	udp := c.(*net.UDPConn)
	if err := setUp(how, network, local, udp); err != nil {
		return nil, errors.Join(err, udp.Close())
	}
	return &datagrams{UDPConn: udp, stored: s.useLocked(from, udpAt(local)), sockets: s}, nil
}

// datagrams is a UDP socket that the manager has, too. Close closes this process's descriptor alone.
type datagrams struct {
	*net.UDPConn
	stored  string // name in the manager's store; "": the socket is not in the store
	sockets *Sockets
}

// Close implements [net.PacketConn].
func (d *datagrams) Close() error {
	d.sockets.keepEarly(d.UDPConn, udpAt(addressOf(d.LocalAddr())), d.stored)
	return d.sockets.closed(d.UDPConn.Close(), d.stored)
}
