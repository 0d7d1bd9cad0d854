package wire

// IdentityKind tells questions and answers apart.
type IdentityKind uint32

// The kinds.
const (
	Ask  IdentityKind = 1
	Tell IdentityKind = 2
)

// Identity asks a node for its incarnation, or answers such a question. It goes to the portal
// of requests, little-endian. Versions of this package that do not know this message count it
// as malformed and do not answer.
//
//	 0  4  magic        "SCOI"
//	 4  2  version
//	 6  2  size
//	 8  8  nonce        of the question; the answer repeats it
//	16  8  incarnation  of the node that answers
//	24  4  kind         1 question, 2 answer
//	28  4  flags        1: an authentication code (package keyring) follows, bound to sender and receiver
type Identity struct {
	Nonce       uint64       // nonce of the question, which the answer repeats
	Incarnation uint64       // incarnation of the node that answers; 0 in a question
	Kind        IdentityKind // question or answer
	Signed      bool         // an authentication code of package keyring follows the message
}

// AppendTo appends the message, without the authentication code.
func (i *Identity) AppendTo(b []byte) []byte {
	return word{i.Nonce, i.Incarnation, uint32(i.Kind), i.Signed}.append(b, IdentityMagic)
}

// ParseIdentity parses a message. Errors are ErrShort, ErrMagic, ErrVersion and
// ErrHeader.
func ParseIdentity(b []byte) (Identity, error) {
	w, err := parseWord(b, IdentityMagic, uint32(Ask), uint32(Tell))
	return Identity{w.first, w.second, IdentityKind(w.value), w.signed}, err
}
