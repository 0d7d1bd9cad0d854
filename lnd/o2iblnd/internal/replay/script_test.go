package replay

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
)

// Packet is one packet of a recording, taken apart.
type Packet struct {
	Frame int // number of the frame in the capture, from 1
	At    time.Duration
	Datagram
	ibta.Packet          // the BTH and the other headers, parsed; the slice Packet.Payload is a part of Datagram.Bytes
	CM          *CM      // message of the connection manager, in a datagram to QP 1
	Msg         *kib.Msg // message of o2iblnd, in a SEND
}

// Datagram is a packet on its way, from the BTH to the ICRC.
type Datagram struct {
	From, To netip.AddrPort
	Class    uint8  // traffic class of the IP header
	ID       uint16 // identification field of IPv4, which the ICRC covers
	Bytes    []byte
}

// Script is a recording of what two nodes sent.
type Script struct {
	Name    string
	Packets []Packet
}

// The errors of Load and Parse.
var (
	errNotRoCE = errors.New("no RoCEv2 packet over IPv4")
	ErrICRC    = errors.New("ICRC is wrong")
	errUnknown = errors.New("packet of a kind that no recording has")
)

// Load reads a capture file, which may be compressed by gzip. Each ICRC must be
// right, and each byte understood.
func Load(path string) (*Script, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var src io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if src, err = gzip.NewReader(f); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	r, err := capture.NewReader(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s := &Script{Name: path}
	var start time.Time
	for frame := 1; ; frame++ {
		raw, err := r.Next()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		var p Packet
		if err == nil {
			p, err = parseFrame(raw.Data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: frame %d: %w", path, frame, err)
		}
		if frame == 1 {
			start = raw.Time
		}
		p.Frame, p.At = frame, raw.Time.Sub(start)
		s.Packets = append(s.Packets, p)
	}
}

// parseFrame parses an Ethernet frame.
func parseFrame(b []byte) (Packet, error) {
	const ethernet, protocol, udp = 14, 9, 17
	if len(b) < ethernet+ibta.IPv4Size+ibta.UDPSize || b[ethernet] != 0x45 || b[ethernet+protocol] != udp {
		return Packet{}, errNotRoCE
	}
	ip := b[ethernet:]
	length := int(binary.BigEndian.Uint16(ip[2:]))
	ports := ip[ibta.IPv4Size:]
	if length > len(ip) || length < ibta.IPv4Size+ibta.UDPSize || binary.BigEndian.Uint16(ports[2:]) != ibta.Port {
		return Packet{}, errNotRoCE
	}
	d := Datagram{
		From:  netip.AddrPortFrom(netip.AddrFrom4([4]byte(ip[12:])), binary.BigEndian.Uint16(ports)),
		To:    netip.AddrPortFrom(netip.AddrFrom4([4]byte(ip[16:])), ibta.Port),
		Class: ip[1], ID: binary.BigEndian.Uint16(ip[4:]),
		Bytes: bytes.Clone(ip[ibta.IPv4Size+ibta.UDPSize : length]),
	}
	if !ibta.NewPath(d.From, d.To).Check(d.ID, d.Bytes) {
		return Packet{}, ErrICRC
	}
	return Parse(d)
}

// Parse takes a packet apart, whose ICRC it does not check. The errors are those
// of ibta and kib, and errUnknown.
func Parse(d Datagram) (p Packet, err error) {
	p.Datagram = d
	if p.Packet, err = ibta.ParsePacket(d.Bytes); err != nil {
		return p, err
	}
	switch {
	case p.OpCode == ibta.UDSendOnly && p.DestQP == ibta.GSI:
		p.CM, err = parseCM(p.Payload)
	case p.OpCode == ibta.SendOnly:
		p.Msg = new(kib.Msg)
		*p.Msg, err = kib.ParseMsg(p.Payload)
	case !p.OpCode.IsWrite() && p.OpCode != ibta.Acknowledge:
		err = fmt.Errorf("%w: %v", errUnknown, p.OpCode)
	}
	return p, err
}

// Encode returns the packet without its ICRC, made of its parts alone: nothing
// but the data of LNet messages is copied from Bytes.
func (p *Packet) Encode() []byte {
	q := p.Packet
	switch {
	case p.CM != nil:
		q.Payload = p.CM.encode()
	case p.Msg != nil:
		b, err := p.Msg.AppendBinary(nil)
		if err != nil {
			return nil // the packet was parsed, so this cannot happen
		}
		q.Payload = b
	}
	return q.AppendTo(nil)
}

// seal encodes the parts of the packet, adds the ICRC, and stores the result in Bytes.
func (p *Packet) seal() {
	p.Bytes = ibta.NewPath(p.From, p.To).AppendICRC(p.ID, p.Encode())
}

// IsAck reports whether the packet is an ACK or NAK.
func (p *Packet) IsAck() bool { return p.OpCode == ibta.Acknowledge }

// String returns "frame 12, WRITE FIRST PSN 0x8c34de" or "frame 1, CM REQ".
func (p *Packet) String() string {
	switch {
	case p.CM != nil:
		return fmt.Sprintf("frame %d, CM %v", p.Frame, p.CM.MAD.Attribute)
	case p.Msg != nil:
		return fmt.Sprintf("frame %d, %v PSN %#x", p.Frame, p.Msg.Type, p.PSN)
	}
	return fmt.Sprintf("frame %d, %v PSN %#x", p.Frame, p.OpCode, p.PSN)
}

// Cut returns the script of the frames from first to last.
func (s *Script) Cut(first, last int) *Script {
	cut := &Script{Name: fmt.Sprintf("%s, frames %d to %d", s.Name, first, last)}
	for _, p := range s.Packets {
		if p.Frame >= first && p.Frame <= last {
			cut.Packets = append(cut.Packets, p)
		}
	}
	return cut
}

// Hosts returns the two nodes, the sender of the first packet first.
func (s *Script) Hosts() [2]netip.Addr {
	return [2]netip.Addr{s.Packets[0].From.Addr(), s.Packets[0].To.Addr()}
}

// Other returns the node that host talks with.
func (s *Script) Other(host netip.Addr) netip.Addr {
	h := s.Hosts()
	if h[0] == host {
		return h[1]
	}
	return h[0]
}

// Edit returns a copy of the script in which f has changed the packets. f may change any part of a
// packet except CM.Private.
func (s *Script) Edit(f func(p *Packet)) *Script {
	n := &Script{Name: s.Name + ", edited"}
	for i := range s.Packets {
		p := s.Packets[i].Clone()
		f(&p)
		p.seal()
		q, err := Parse(p.Datagram)
		if err != nil { // the edit f has made the packet invalid
			panic(fmt.Sprintf("%s: %v edited: %v", s.Name, &p, err))
		}
		q.Frame, q.At = p.Frame, p.At
		n.Packets = append(n.Packets, q)
	}
	return n
}

// Then returns a script with the packets of s, followed by those of next.
func (s *Script) Then(next *Script) *Script {
	n := &Script{Name: s.Name + "; " + next.Name}
	n.Packets = append(append(n.Packets, s.Packets...), next.Packets...)
	return n
}
