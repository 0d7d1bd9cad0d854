package wire

import (
	"encoding/binary"
	"time"
)

// HoldSize is the length of a Hold on the wire, in bytes.
const HoldSize = 32

// holdUnit is the unit of the field hold of a RequestHeader.
const holdUnit = 250 * time.Millisecond

// MaxHold is the most that the field hold can say, whatever it says.
const MaxHold = time.Minute

// Hold tells the parent of a request that its time-out has to wait: the request is
// held, here or below, until there is a place for it; or that it is held no more, and
// the time-out counts from now. It goes up the tree, to the portal of requests,
// little-endian:
//
//	 0  4  magic       "SCOH"
//	 4  2  version
//	 6  2  size
//	 8  8  reply bits  of the request
//	16  8  number      of this word about the request, from 1: words may overtake each other
//	24  4  held        1: it is held, 0: no more
//	28  4  flags       1: a code of package keyring follows, bound to sender and receiver
type Hold struct {
	ReplyBits uint64
	Number    uint64
	Held      bool
	Signed    bool
}

// AppendBinary appends the message, without the code.
func (w *Hold) AppendBinary(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, HoldMagic)
	b = le.AppendUint16(b, Version)
	b = le.AppendUint16(b, HoldSize)
	b = le.AppendUint64(b, w.ReplyBits)
	b = le.AppendUint64(b, w.Number)
	held := uint32(0)
	if w.Held {
		held = 1
	}
	b = le.AppendUint32(b, held)
	return le.AppendUint32(b, wordFlags(w.Signed))
}

// ParseHold parses a message. Errors are ErrShort, ErrMagic, ErrVersion and ErrHeader.
func ParseHold(b []byte) (w Hold, err error) {
	le := binary.LittleEndian
	if len(b) < HoldSize {
		return w, ErrShort
	}
	if le.Uint32(b) != HoldMagic {
		return w, ErrMagic
	}
	if le.Uint16(b[4:]) != Version || le.Uint16(b[6:]) != HoldSize {
		return w, ErrVersion
	}
	held := le.Uint32(b[24:])
	signed, ok := parseWordFlags(b, HoldSize)
	if !ok || held > 1 {
		return w, ErrHeader
	}
	return Hold{le.Uint64(b[8:]), le.Uint64(b[16:]), held == 1, signed}, nil
}
