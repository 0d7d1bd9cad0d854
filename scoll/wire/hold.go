package wire

import "time"

// holdUnit is the unit of the field hold of a RequestHeader.
const holdUnit = 250 * time.Millisecond

// MaxHold is the largest value of the field hold. A receiver reduces larger values to it.
const MaxHold = time.Minute

// Hold tells the parent of a request to suspend its timeout, because the request waits for an
// admission slot at the sender or below it, or to restart the timeout, because the request no
// longer waits. A Hold goes up the tree, to the portal of requests, little-endian:
//
//	 0  4  magic       "SCOH"
//	 4  2  version
//	 6  2  size
//	 8  8  reply bits  of the request
//	16  8  number      of this message about the request, from 1: messages may overtake each other
//	24  4  held        1: the request is held, 0: not any more
//	28  4  flags       1: an authentication code (package keyring) follows, bound to sender and receiver
type Hold struct {
	ReplyBits uint64 // match bits that identify the request
	Number    uint64 // number of this message about the request, from 1
	Held      bool   // the request is held now
	Signed    bool   // an authentication code of package keyring follows the message
}

// AppendTo appends the message, without the authentication code.
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
