package ibta

import "encoding/binary"

// Packet is a packet with the extended headers that its opcode has; the others
// are zero.
type Packet struct {
	BTH
	DETH      DETH   // header of datagrams
	RETH      RETH   // header of first and only packets of a WRITE
	AETH      AETH   // header of acknowledgements
	Immediate uint32 // immediate data, in packets that have some
	Payload   []byte // payload without padding; part of the parsed bytes
}

// ParsePacket parses the payload of a UDP datagram, including the ICRC, which
// it does not check. The errors are ErrShort, ErrVersion, ErrOpCode (with
// which the BTH is valid) and ErrPad.
func ParsePacket(b []byte) (p Packet, err error) {
	var rest []byte
	if p.BTH, rest, err = ParseBTH(b); err != nil {
		return p, err
	}
	if !p.OpCode.IsKnown() {
		return p, ErrOpCode
	}
	if len(b) < p.OpCode.HeaderSize()+ICRCSize {
		return p, ErrShort
	}
	if p.OpCode.has(hasDETH) {
		p.DETH, rest, _ = parseDETH(rest) // the length was checked, here and below
	}
	if p.OpCode.has(hasRETH) {
		p.RETH, rest, _ = parseRETH(rest)
	}
	if p.OpCode.has(hasAETH) {
		p.AETH, rest, _ = parseAETH(rest)
	}
	if p.OpCode.has(hasImm) {
		p.Immediate, rest = binary.BigEndian.Uint32(rest), rest[immSize:]
	}
	if p.OpCode == CNP {
		rest = rest[cnpReserved:]
	}
	n := len(rest) - ICRCSize - int(p.Pad)
	if n < 0 {
		return p, ErrPad
	}
	p.Payload = rest[:n:n]
	return p, nil
}

// AppendHeaders appends BTH and extended headers. It sets Pad by the length
// of Payload; payload, padding and ICRC are to follow: see AppendPadding and
// Path.AppendICRC.
func (p *Packet) AppendHeaders(b []byte) []byte { return p.AppendHeadersOf(b, len(p.Payload)) }

// AppendHeadersOf does what AppendHeaders does, for a payload of n bytes that is not Payload.
func (p *Packet) AppendHeadersOf(b []byte, n int) []byte {
	p.Pad = Pad(n)
	b = p.BTH.AppendTo(b)
	if p.OpCode.has(hasDETH) {
		b = p.DETH.AppendTo(b)
	}
	if p.OpCode.has(hasRETH) {
		b = p.RETH.AppendTo(b)
	}
	if p.OpCode.has(hasAETH) {
		b = p.AETH.AppendTo(b)
	}
	if p.OpCode.has(hasImm) {
		b = binary.BigEndian.AppendUint32(b, p.Immediate)
	}
	if p.OpCode == CNP {
		b = append(b, make([]byte, cnpReserved)...)
	}
	return b
}

// AppendTo appends the packet without its ICRC.
func (p *Packet) AppendTo(b []byte) []byte {
	b = append(p.AppendHeaders(b), p.Payload...)
	return AppendPadding(b, len(p.Payload))
}

// Pad returns the pad count of a payload of n bytes.
func Pad(n int) uint8 { return uint8(-n & 3) }

// AppendPadding appends the padding of a payload of n bytes.
func AppendPadding(b []byte, n int) []byte {
	const zeros = "\x00\x00\x00"
	return append(b, zeros[:Pad(n)]...)
}
