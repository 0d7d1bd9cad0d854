package wire

import "encoding/binary"

// IdentitySize is the length of an Identity on the wire, in bytes.
const IdentitySize = 32

// IdentityKind tells questions and answers apart.
type IdentityKind uint32

// The kinds.
const (
	Ask  IdentityKind = 1
	Tell IdentityKind = 2
)

// Identity asks a node for its incarnation, or answers that. It goes where requests
// go, little-endian. Versions of this package before it count it as malformed and do
// not answer.
//
//	 0  4  magic        "SCOI"
//	 4  2  version
//	 6  2  size
//	 8  8  nonce        of the question; the answer repeats it
//	16  8  incarnation  of the node that answers
//	24  4  kind         1 question, 2 answer
//	28  4  flags        1: a code of package keyring follows, bound to sender and receiver
type Identity struct {
	Nonce       uint64
	Incarnation uint64
	Kind        IdentityKind
	Signed      bool
}

// AppendBinary appends the message, without the code.
func (i *Identity) AppendBinary(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, IdentityMagic)
	b = le.AppendUint16(b, Version)
	b = le.AppendUint16(b, IdentitySize)
	b = le.AppendUint64(b, i.Nonce)
	b = le.AppendUint64(b, i.Incarnation)
	b = le.AppendUint32(b, uint32(i.Kind))
	return le.AppendUint32(b, wordFlags(i.Signed))
}

// ParseIdentity parses a message. Errors are ErrShort, ErrMagic, ErrVersion and
// ErrHeader.
func ParseIdentity(b []byte) (i Identity, err error) {
	le := binary.LittleEndian
	if len(b) < IdentitySize {
		return i, ErrShort
	}
	if le.Uint32(b) != IdentityMagic {
		return i, ErrMagic
	}
	if le.Uint16(b[4:]) != Version || le.Uint16(b[6:]) != IdentitySize {
		return i, ErrVersion
	}
	i = Identity{Nonce: le.Uint64(b[8:]), Incarnation: le.Uint64(b[16:]), Kind: IdentityKind(le.Uint32(b[24:]))}
	var ok bool
	if i.Signed, ok = parseWordFlags(b, IdentitySize); !ok || i.Kind != Ask && i.Kind != Tell {
		return i, ErrHeader
	}
	return i, nil
}
