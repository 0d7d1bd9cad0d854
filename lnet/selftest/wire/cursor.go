package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"ulnet/lnet/nid"
)

// cursor walks over the fields of a message. A walk either writes all fields or reads them, so
// that each body has only one description of its layout.
type cursor struct {
	b         []byte // the whole message
	at        int    // offset of the next field
	read      bool   // true: fields are set from b; false: b is written from the fields
	bigEndian bool   // byte order of the message
	err       error  // first field that cannot be written
}

// little32 converts a number between the byte order of the message and little-endian, and
// little64 does so for 64 bits.
func (c *cursor) little32(v uint32) uint32 {
	if c.bigEndian {
		return bits.ReverseBytes32(v)
	}
	return v
}

func (c *cursor) little64(v uint64) uint64 {
	if c.bigEndian {
		return bits.ReverseBytes64(v)
	}
	return v
}

// next returns the bytes of the next field.
func (c *cursor) next(size int) []byte {
	b := c.b[c.at:][:size]
	c.at += size
	return b
}

func field32[T ~uint32 | ~int32](c *cursor, v *T) {
	b := c.next(4)
	if c.read {
		*v = T(c.little32(binary.LittleEndian.Uint32(b)))
	} else {
		binary.LittleEndian.PutUint32(b, c.little32(uint32(*v)))
	}
}

func field64[T ~uint64 | ~int64](c *cursor, v *T) {
	b := c.next(8)
	if c.read {
		*v = T(c.little64(binary.LittleEndian.Uint64(b)))
	} else {
		binary.LittleEndian.PutUint64(b, c.little64(uint64(*v)))
	}
}

// half is a field of 16 bits for a number that has 32 bits in its struct, because it has 32 in
// messages without the feature BulkLength.
func half[T ~uint32](c *cursor, v *T) {
	b := c.next(2)
	if c.read {
		n := binary.LittleEndian.Uint16(b)
		if c.bigEndian {
			n = bits.ReverseBytes16(n)
		}
		*v = T(n)
		return
	}
	if *v > 1<<16-1 {
		c.fail(ErrRange)
	}
	n := uint16(*v)
	if c.bigEndian {
		n = bits.ReverseBytes16(n)
	}
	binary.LittleEndian.PutUint16(b, n)
}

// flag8 is a flag in one byte, and flag32 one in four: each value but 0 is true.
func flag8(c *cursor, v *bool) {
	b := c.next(1)
	if c.read {
		*v = b[0] != 0
	} else if *v {
		b[0] = 1
	}
}

func flag32(c *cursor, v *bool) {
	n := uint32(0)
	if *v {
		n = 1
	}
	field32(c, &n)
	*v = n != 0
}

// session is the id of a session: the nid4 of its console and a stamp.
func (c *cursor) session(s *Session) {
	if !c.read && !s.Console.Is4() && !s.Console.IsAny() {
		c.fail(ErrNID)
	}
	value := s.Console.Value4()
	field64(c, &value)
	if c.read {
		s.Console = nid.From4(value)
	}
	field64(c, &s.Stamp)
}

// name is a text of at most MaxName bytes, padded with zeros.
func (c *cursor) name(s *string) {
	b := c.next(MaxName + 1)
	if !c.read {
		if len(*s) > MaxName || bytes.IndexByte([]byte(*s), 0) >= 0 {
			c.fail(ErrName)
			return
		}
		copy(b, *s)
		return
	}
	text, _, _ := bytes.Cut(b[:MaxName], []byte{0})
	*s = string(text)
}

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}
