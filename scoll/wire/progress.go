package wire

// MinSegment is the shortest segment of pipelined bulk data, in bytes.
const MinSegment = 4096

// Progress tells a child how many bytes of pipelined bulk data its parent has, so that the
// child can fetch these bytes. It can also tell that no more bytes will come. A Progress goes
// to the portal of requests, little-endian:
//
//	 0  4  magic       "SCOP"
//	 4  2  version
//	 6  2  size
//	 8  8  reply bits  of the request
//	16  8  there       bytes from the beginning
//	24  4  status      of the bulk data at the parent
//	28  4  flags       1: an authentication code (package keyring) follows, bound to sender and receiver
type Progress struct {
	ReplyBits uint64 // match bits that identify the request
	There     uint64 // number of bytes that the parent has
	Status    Status // OK, or why no more bytes will come
	Signed    bool   // an authentication code of package keyring follows the message
}

// AppendTo appends the message, without the authentication code.
func (p *Progress) AppendTo(b []byte) []byte {
	return word{p.ReplyBits, p.There, uint32(p.Status), p.Signed}.append(b, ProgressMagic)
}

// ParseProgress parses a message. Errors are ErrShort, ErrMagic, ErrVersion and
// ErrHeader.
func ParseProgress(b []byte) (Progress, error) {
	w, err := parseWord(b, ProgressMagic, 0, 1<<16-1)
	return Progress{w.first, w.second, Status(w.value), w.signed}, err
}
