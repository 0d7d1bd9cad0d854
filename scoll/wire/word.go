package wire

import (
	"encoding/binary"

	"ulnet/portals/keyring"
)

// WordSize is the length of an Identity, a Progress or a Hold on the wire, in bytes.
const WordSize = 32

// word is the common layout of Identity, Progress and Hold, little-endian:
//
//	 0  4  magic
//	 4  2  version
//	 6  2  size
//	 8  8  first
//	16  8  second
//	24  4  value
//	28  4  flags   1: an authentication code (package keyring) follows, bound to sender and receiver
type word struct {
	first, second uint64
	value         uint32
	signed        bool
}

// wordSigned is the flag which says that an authentication code follows.
const wordSigned = 1

func (w word) append(b []byte, magic uint32) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, magic)
	b = le.AppendUint16(b, Version)
	b = le.AppendUint16(b, WordSize)
	b = le.AppendUint64(b, w.first)
	b = le.AppendUint64(b, w.second)
	b = le.AppendUint32(b, w.value)
	flags := uint32(0)
	if w.signed {
		flags = wordSigned
	}
	return le.AppendUint32(b, flags)
}

// parseWord parses a message and refuses a value outside of [least, most]. Errors are
// ErrShort, ErrMagic, ErrVersion and ErrHeader.
func parseWord(b []byte, magic, least, most uint32) (w word, err error) {
	le := binary.LittleEndian
	if len(b) < WordSize {
		return w, ErrShort
	}
	if le.Uint32(b) != magic {
		return w, ErrMagic
	}
	if le.Uint16(b[4:]) != Version || le.Uint16(b[6:]) != WordSize {
		return w, ErrVersion
	}
	w = word{le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint32(b[24:]), le.Uint32(b[28:])&wordSigned != 0}
	size := WordSize
	if w.signed {
		size += keyring.CodeSize
	}
	if len(b) != size || w.value < least || w.value > most {
		return w, ErrHeader
	}
	return w, nil
}
