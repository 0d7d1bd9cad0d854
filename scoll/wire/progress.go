package wire

import (
	"encoding/binary"

	"ulnet/portals/keyring"
)

// ProgressSize is the length of a Progress on the wire, in bytes.
const ProgressSize = 32

// MinSegment is the shortest segment of bulk data that is forwarded before the
// rest has come, in bytes.
const MinSegment = 4096

// Progress tells a child of a request whose bulk data is pipelined how much its
// parent has, so that the child can fetch that, or that no more will come. It
// goes where requests go, little-endian:
//
//	 0  4  magic       "SCOP"
//	 4  2  version
//	 6  2  size
//	 8  8  reply bits  of the request
//	16  8  there       bytes from the beginning
//	24  4  status      of the bulk data at the parent
//	28  4  flags       1: a code of package keyring follows, bound to sender and receiver
type Progress struct {
	ReplyBits uint64
	There     uint64
	Status    Status
	Signed    bool
}

// wordSigned is the flag of Progress and Identity for a code.
const wordSigned = 1

func wordFlags(signed bool) uint32 {
	if signed {
		return wordSigned
	}
	return 0
}

// parseWordFlags reads the flags at the end of a message of a size, and reports
// whether the message is as long as they say.
func parseWordFlags(b []byte, size int) (signed, ok bool) {
	if signed = binary.LittleEndian.Uint32(b[size-4:])&wordSigned != 0; signed {
		size += keyring.CodeSize
	}
	return signed, len(b) == size
}

// AppendBinary appends the message, without the code.
func (p *Progress) AppendBinary(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, ProgressMagic)
	b = le.AppendUint16(b, Version)
	b = le.AppendUint16(b, ProgressSize)
	b = le.AppendUint64(b, p.ReplyBits)
	b = le.AppendUint64(b, p.There)
	b = le.AppendUint32(b, uint32(p.Status))
	return le.AppendUint32(b, wordFlags(p.Signed))
}

// ParseProgress parses a message. Errors are ErrShort, ErrMagic, ErrVersion and
// ErrHeader.
func ParseProgress(b []byte) (p Progress, err error) {
	le := binary.LittleEndian
	if len(b) < ProgressSize {
		return p, ErrShort
	}
	if le.Uint32(b) != ProgressMagic {
		return p, ErrMagic
	}
	if le.Uint16(b[4:]) != Version || le.Uint16(b[6:]) != ProgressSize {
		return p, ErrVersion
	}
	status := le.Uint32(b[24:])
	signed, ok := parseWordFlags(b, ProgressSize)
	p = Progress{le.Uint64(b[8:]), le.Uint64(b[16:]), Status(status), signed}
	if !ok || status > 1<<16-1 {
		return p, ErrHeader
	}
	return p, nil
}
