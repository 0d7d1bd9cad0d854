package wire

import "time"

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

// AppendTo appends the message, without the code.
func (w *Hold) AppendTo(b []byte) []byte {
	held := uint32(0)
	if w.Held {
		held = 1
	}
	return word{w.ReplyBits, w.Number, held, w.Signed}.append(b, HoldMagic)
}

// ParseHold parses a message. Errors are ErrShort, ErrMagic, ErrVersion and ErrHeader.
func ParseHold(b []byte) (Hold, error) {
	w, err := parseWord(b, HoldMagic, 0, 1)
	return Hold{w.first, w.second, w.value == 1, w.signed}, err
}
