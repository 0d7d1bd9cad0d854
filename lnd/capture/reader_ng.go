package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"time"
)

// Block types of pcapng (draft-ietf-opsawg-pcapng).
const (
	ngSection              = 0x0A0D0D0A
	ngInterfaceDescription = 1
	ngPacket               = 2 // obsolete Packet Block
	ngSimple               = 3
	ngEnhanced             = 6
)

// ngInterface is an interface description of pcapng.
type ngInterface struct {
	link   LinkType
	snap   uint32
	perSec uint64 // units of the time stamps per second
	offset int64  // seconds to add to the time stamps
}

// nextBlock reads blocks of pcapng up to the next packet.
func (r *Reader) nextBlock() (Packet, error) {
	for {
		r.begin = r.offset
		typ, body, err := r.block()
		if err != nil {
			return Packet{}, err
		}
		var p Packet
		switch typ {
		case ngInterfaceDescription:
			err = r.addInterface(body)
		case ngEnhanced, ngPacket:
			p, err = r.enhanced(typ, body)
		case ngSimple:
			p, err = r.simple(body)
		default:
			continue
		}
		if err != nil || typ != ngInterfaceDescription {
			return p, err
		}
	}
}

// block reads one block. It returns no body for a block of a type that the Reader does not use.
func (r *Reader) block() (typ uint32, body []byte, err error) {
	b, err := r.read(8)
	if err != nil {
		return 0, nil, err
	}
	head := [8]byte(b)
	if binary.LittleEndian.Uint32(head[:]) == ngSection {
		if err := r.section(); err != nil {
			return 0, nil, err
		}
	}
	typ = r.order.Uint32(head[:])
	length := r.order.Uint32(head[4:])
	done := uint32(r.offset - r.begin)
	if length < done+4 || length%4 != 0 {
		return 0, nil, fmt.Errorf("block of %d bytes", length)
	}
	switch typ {
	case ngInterfaceDescription, ngPacket, ngSimple, ngEnhanced:
		if length > maxBlock {
			return 0, nil, fmt.Errorf("block of %d bytes", length)
		}
		b, err = r.read(int(length - done))
	default:
		b, err = r.discard(int64(length - done))
	}
	if err != nil {
		return 0, nil, inside(err)
	}
	body, tail := b[:len(b)-4], b[len(b)-4:]
	if again := r.order.Uint32(tail); again != length {
		return 0, nil, fmt.Errorf("block of %d bytes ends as one of %d", length, again)
	}
	return typ, body, nil
}

// discard skips n bytes of a block, and returns the last four of them, which repeat the length of the
// block.
func (r *Reader) discard(n int64) ([]byte, error) {
	skipped, err := io.CopyN(io.Discard, r.r, n-4)
	r.offset += skipped
	if err != nil {
		return nil, ofSource(err)
	}
	return r.read(4)
}

// section reads the part of a section header that tells the byte order of the new section,
// and forgets the interfaces of the last section.
func (r *Reader) section() error {
	b, err := r.read(4)
	if err != nil {
		return inside(err)
	}
	const magic = 0x1A2B3C4D
	switch {
	case binary.LittleEndian.Uint32(b) == magic:
		r.order = binary.LittleEndian
	case binary.BigEndian.Uint32(b) == magic:
		r.order = binary.BigEndian
	default:
		return errors.New("section without byte order")
	}
	r.interfaces = nil
	return nil
}

func (r *Reader) addInterface(b []byte) error {
	if len(b) < 8 || len(r.interfaces) >= maxInterfaces {
		return errors.New("bad interface description")
	}
	i := ngInterface{link: LinkType(r.order.Uint16(b)), snap: r.order.Uint32(b[4:]), perSec: 1e6}
	for o := b[8:]; len(o) >= 4; {
		code, length := r.order.Uint16(o), int(r.order.Uint16(o[2:]))
		padded := (length + 3) &^ 3
		if code == 0 || len(o)-4 < padded {
			break
		}
		if err := i.option(r.order, code, o[4:4+length]); err != nil {
			return err
		}
		o = o[4+padded:]
	}
	r.interfaces = append(r.interfaces, i)
	return nil
}

// option reads one option of an interface.
func (i *ngInterface) option(order binary.ByteOrder, code uint16, value []byte) error {
	const resolution, offset = 9, 14
	switch {
	case code == resolution && len(value) == 1:
		exponent := value[0] &^ 0x80
		binaryUnits := value[0]&0x80 != 0
		if binaryUnits && exponent > 63 || !binaryUnits && exponent > 19 {
			return fmt.Errorf("time stamps of resolution %#x", value[0])
		}
		i.perSec = 1
		for range exponent {
			if binaryUnits {
				i.perSec *= 2
			} else {
				i.perSec *= 10
			}
		}
	case code == offset && len(value) == 8:
		i.offset = int64(order.Uint64(value))
	}
	return nil
}

// enhanced reads a packet block, the enhanced or the obsolete one.
func (r *Reader) enhanced(typ uint32, b []byte) (Packet, error) {
	if len(b) < 20 {
		return Packet{}, errors.New("packet block without header")
	}
	index := r.order.Uint32(b)
	if typ == ngPacket {
		index = uint32(r.order.Uint16(b)) // in this block the index has 16 bits; a drop count follows
	}
	if int64(index) >= int64(len(r.interfaces)) {
		return Packet{}, fmt.Errorf("packet of interface %d, which is not described", index)
	}
	i := &r.interfaces[index]
	units := uint64(r.order.Uint32(b[4:]))<<32 | uint64(r.order.Uint32(b[8:]))
	captured, length := r.order.Uint32(b[12:]), r.order.Uint32(b[16:])
	if int64(captured) > int64(len(b)-20) {
		return Packet{}, fmt.Errorf("packet of %d bytes in a block of %d", captured, len(b)+12)
	}
	high, low := bits.Mul64(units%i.perSec, 1e9)
	ns, _ := bits.Div64(high, low, i.perSec) // does not overflow: high < perSec
	at := time.Unix(int64(units/i.perSec)+i.offset, int64(ns)).UTC()
	return Packet{Time: at, Link: i.link, Data: b[20 : 20+captured], Length: int(length)}, nil
}

// simple reads a packet block without interface and time.
func (r *Reader) simple(b []byte) (Packet, error) {
	if len(b) < 4 || len(r.interfaces) == 0 {
		return Packet{}, errors.New("simple packet block without interface or header")
	}
	i := &r.interfaces[0]
	length := r.order.Uint32(b)
	captured := min(length, uint32(len(b)-4))
	if i.snap > 0 {
		captured = min(captured, i.snap)
	}
	return Packet{Link: i.link, Data: b[4 : 4+captured], Length: int(length)}, nil
}
