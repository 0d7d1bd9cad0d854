package main

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"syscall"

	"ulnet/lnd/verbs/ibta"
)

// Socket options that package syscall lacks, and values for them.
const (
	solUDP        = 17
	udpSegment    = 103
	udpGRO        = 104
	discoverProbe = 3 // the value IP_PMTUDISC_PROBE of Linux

	floorBuffer = 4 << 20 // requested size of the receive buffer; the system may grant less
	floorJoined = 1 << 16 // size of the largest batch that GRO returns, in bytes
)

// floorSocket is a UDP socket with GSO and GRO. It is not connected, and sets the flag DF (do not
// fragment). For such a socket, the kernel writes 0, 1, 2 and so on into the IP identification of
// the datagrams of one call. The ICRC covers the identification, and can be computed only because
// it is known in advance.
type floorSocket struct {
	conn          *net.UDPConn
	local, peer   netip.AddrPort
	out, in       ibta.Path
	receiveBuffer int
	control       []byte // control message with the size of a segment
	buffer        []byte
	ancillary     [64]byte
	batch         floorBatch
}

func (s *floorSocket) open(local netip.AddrPort) {
	cfg := net.ListenConfig{Control: func(_, _ string, rc syscall.RawConn) (err error) {
		if e := rc.Control(func(fd uintptr) { err = s.setUp(int(fd)) }); e != nil {
			return e
		}
		return err
	}}
	s.conn = must(cfg.ListenPacket(context.Background(), "udp4", local.String())).(*net.UDPConn)
	s.local = s.conn.LocalAddr().(*net.UDPAddr).AddrPort()
	s.buffer = make([]byte, floorJoined)
	// This fills in struct cmsghdr, whose length field is a size_t.
	at := syscall.CmsgLen(0)
	s.control = make([]byte, syscall.CmsgSpace(2))
	binary.NativeEndian.PutUint32(s.control, uint32(syscall.CmsgLen(2)))
	binary.NativeEndian.PutUint32(s.control[at-8:], solUDP)
	binary.NativeEndian.PutUint32(s.control[at-4:], udpSegment)
}

func (s *floorSocket) setUp(fd int) error {
	_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF, floorBuffer) // the size that the system granted is read below
	for _, o := range [][3]int{
		{syscall.IPPROTO_IP, syscall.IP_MTU_DISCOVER, discoverProbe},
		{solUDP, udpSegment, 0},
		{solUDP, udpGRO, 1},
	} {
		if err := syscall.SetsockoptInt(fd, o[0], o[1], o[2]); err != nil {
			return err
		}
	}
	var err error
	s.receiveBuffer, err = syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF)
	return err
}

// connect sets the peer that send sends to.
func (s *floorSocket) connect(peer netip.AddrPort) {
	s.peer, s.out, s.in = peer, ibta.NewPath(s.local, peer), ibta.NewPath(peer, s.local)
}

// send sends b in datagrams of size bytes each; the last one may be shorter.
func (s *floorSocket) send(b []byte, size int) error {
	var control []byte
	if len(b) > size {
		control = s.control
		binary.NativeEndian.PutUint16(control[syscall.CmsgLen(0):], uint16(size))
	}
	_, _, err := s.conn.WriteMsgUDPAddrPort(b, control, s.peer)
	return err
}

// receive waits for datagrams, and returns them as a batch. The batch is valid until the next
// call.
func (s *floorSocket) receive() (*floorBatch, error) {
	n, oobn, _, from, err := s.conn.ReadMsgUDPAddrPort(s.buffer, s.ancillary[:])
	if err != nil {
		return nil, err
	}
	if from != s.peer {
		s.connect(from)
	}
	size := n
	if at := syscall.CmsgLen(0); oobn >= at+4 {
		size = int(binary.NativeEndian.Uint32(s.ancillary[at:]))
	}
	s.batch = floorBatch{rest: s.buffer[:n], size: size, path: s.in}
	return &s.batch, nil
}

// floorBatch is the result of one receive: datagrams that the kernel joined by GRO.
type floorBatch struct {
	rest []byte
	size int
	id   uint16
	path ibta.Path

	header  ibta.BTH
	payload []byte
}

// next advances to the next packet, and skips those with a wrong ICRC.
func (b *floorBatch) next() bool {
	for len(b.rest) > 0 {
		d := b.rest[:min(b.size, len(b.rest))]
		b.rest = b.rest[len(d):]
		good := b.path.Check(b.id, d)
		b.id++
		if !good {
			continue
		}
		b.header, b.payload, _ = ibta.ParseBTH(d[:len(d)-ibta.ICRCSize]) // this cannot fail, because Check has verified the length
		return true
	}
	return false
}
