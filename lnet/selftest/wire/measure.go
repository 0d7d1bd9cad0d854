package wire

import "fmt"

// BRWOp is the direction of a BRW test's bulk data.
type BRWOp uint32

// The operations. The server moves the data: to the client, or from it.
const (
	Read  BRWOp = 1
	Write BRWOp = 2
)

// String returns "read", "write", or "operation 7".
func (o BRWOp) String() string {
	switch o {
	case Read:
		return "read"
	case Write:
		return "write"
	}
	return fmt.Sprintf("operation %d", uint32(o))
}

// Check is how much of the bulk data the sender fills and the receiver checks.
type Check uint32

// The checks.
const (
	CheckNone    Check = 1 // nothing
	CheckSimple  Check = 2 // the first and last 8 bytes of each page
	CheckFull    Check = 3 // everything
	CheckDiscard Check = 4 // nothing, and the receiver may discard the data; only newer kernels
)

var checkNames = [...]string{CheckNone: "none", CheckSimple: "simple", CheckFull: "full", CheckDiscard: "discard"}

// String returns "none", "simple", "full", "discard", or "check 7".
func (k Check) String() string {
	if k >= CheckNone && k <= CheckDiscard {
		return checkNames[k]
	}
	return fmt.Sprintf("check %d", uint32(k))
}

// BRW is the request of a BRW test.
//
//	off  size  field
//	 24   8    reply id
//	 32   8    bulk id
//	 40   4    operation
//	 44   4    length
//	 48   4    check
type BRW struct {
	BulkID uint64 // match bits of the bulk data
	Op     BRWOp  // which way the data goes
	Length uint32 // bytes of data
	Check  Check  // how much of the data is checked
}

// BRWReply is the reply to BRW, which comes after the bulk data was moved. It has no field
// besides the status.
type BRWReply struct{}

// PingMagic is in PING requests and replies.
const PingMagic uint32 = 0xbabeface

// Ping is the request of a PING test.
//
//	off  size  field
//	 24   8    reply id
//	 32   4    magic
//	 36   4    sequence
//	 40   8    seconds
//	 48   8    nanoseconds
type Ping struct {
	Magic       uint32 // always PingMagic
	Sequence    uint32 // number of the request
	Seconds     int64  // wall clock of the client when it sent the request
	Nanoseconds int64  // fraction of the second, in nanoseconds; Lustre 2.5 sends microseconds here
}

// PingReply is the reply to Ping.
//
//	off  size  field
//	 24   4    status
//	 28   4    magic
//	 32   4    sequence
type PingReply struct {
	Magic    uint32 // always PingMagic
	Sequence uint32 // number of the request
}

// Type implements Body.
func (*BRW) Type() Type { return TypeBRW }

// Type implements Body.
func (*BRWReply) Type() Type { return TypeBRW.Reply() }

// Type implements Body.
func (*Ping) Type() Type { return TypePing }

// Type implements Body.
func (*PingReply) Type() Type { return TypePing.Reply() }

func (m *BRW) fields(c *cursor, _ *Header) {
	field64(c, &m.BulkID)
	field32(c, &m.Op)
	field32(c, &m.Length)
	field32(c, &m.Check)
}

func (*BRWReply) fields(*cursor, *Header) {}

func (m *Ping) fields(c *cursor, _ *Header) {
	field32(c, &m.Magic)
	field32(c, &m.Sequence)
	field64(c, &m.Seconds)
	field64(c, &m.Nanoseconds)
}

func (m *PingReply) fields(c *cursor, _ *Header) {
	field32(c, &m.Magic)
	field32(c, &m.Sequence)
}
