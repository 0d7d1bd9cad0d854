package scoll

import "encoding/binary"

// ProgressSize is the length of a Progress on the wire, in bytes.
const ProgressSize = 32

const progressMagic = 0x504F4353 // "SCOP"

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
//	28  4  reserved
type Progress struct {
	ReplyBits uint64
	There     uint64
	Status    Status
}

// AppendBinary appends the message.
func (p *Progress) AppendBinary(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, progressMagic)
	b = le.AppendUint16(b, Version)
	b = le.AppendUint16(b, ProgressSize)
	b = le.AppendUint64(b, p.ReplyBits)
	b = le.AppendUint64(b, p.There)
	b = le.AppendUint32(b, uint32(p.Status))
	return append(b, 0, 0, 0, 0)
}

// ParseProgress parses a message. Errors are ErrShort, ErrMagic, ErrVersion and
// ErrHeader.
func ParseProgress(b []byte) (p Progress, err error) {
	le := binary.LittleEndian
	if len(b) < ProgressSize {
		return p, ErrShort
	}
	if le.Uint32(b) != progressMagic {
		return p, ErrMagic
	}
	if le.Uint16(b[4:]) != Version || le.Uint16(b[6:]) != ProgressSize {
		return p, ErrVersion
	}
	status := le.Uint32(b[24:])
	p = Progress{le.Uint64(b[8:]), le.Uint64(b[16:]), Status(status)}
	if len(b) != ProgressSize || status > 1<<16-1 {
		return p, ErrHeader
	}
	return p, nil
}
