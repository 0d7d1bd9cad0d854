package wire

import (
	"encoding/binary"
	"errors"
	"time"

	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// Version of the protocol.
const Version = 1

// Sizes in bytes.
const (
	MaxMessage        = 4096      // size of a request with everything in the message (SC-A14)
	MaxBulk           = 1<<32 - 1 // largest size of bulk data, in bytes
	RequestHeaderSize = 192
	ReplyHeaderSize   = 56
	TrailerEntrySize  = 8
	answerableSize    = 32 // size of the first fields, which are enough to answer with an error, in any version
)

// The first four bytes of a message, by its kind.
const (
	callMagic     = 0x4C4F4353 // "SCOL": begins requests and replies
	IdentityMagic = 0x494F4353 // "SCOI": begins Identity messages
	ProgressMagic = 0x504F4353 // "SCOP": begins Progress messages
	HoldMagic     = 0x484F4353 // "SCOH": begins Hold messages
)

// MagicOf returns the magic of a message, 0 if the message is shorter.
func MagicOf(b []byte) uint32 {
	if len(b) < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

// Errors of parsing.
var (
	ErrShort   = errors.New("scoll: message shorter than its header says")
	ErrMagic   = errors.New("scoll: no collective message")
	ErrVersion = errors.New("scoll: another protocol version")
	ErrBody    = errors.New("scoll: lengths do not fit the message")
	ErrHeader  = errors.New("scoll: contradictory header")
)

// ServiceID names a service; all nodes agree on it.
type ServiceID uint32

// Flags say what a request is.
type Flags uint32

// The flags.
const (
	FlagLast   Flags = 1 << iota // no more broadcasts over the group follow
	FlagModule                   // the request is for the module alone, without callbacks: creation and destruction of groups
	FlagOOB                      // the request goes to an out-of-band group
	FlagList                     // the message contains the list of members
	FlagSubset                   // the request goes to the live members only, see Live
	FlagSigned                   // an authentication code of package keyring ends the message
	knownFlags = FlagLast | FlagModule | FlagOOB | FlagList | FlagSubset | FlagSigned
)

// RMA describes data that the receiver fetches with GETs from the sender of the message. The
// zero value means that there is none.
type RMA struct {
	Bits   uint64 // match bits under which the data can be fetched
	Length uint64 // length of the data in bytes
}

// RequestHeader begins every message down the tree, little-endian; NIDs are
// in LNet's extended form:
//
//	  0  4  magic            "SCOL"
//	  4  2  version
//	  6  2  size             of the header
//	  8  8  reply bits       match bits for the answer
//	 16  8  sequence         of the broadcast, for its group and root
//	 24  8  root incarnation
//	 32  4  service
//	 36  4  flags
//	 40 20  group creator
//	 60  8  group incarnation
//	 68  8  group index
//	 76 16  group digest
//	 92  1  tree type
//	 93  1  hold             how long each member may hold the request, in 250 ms; 0: at most
//	                         until its parent's timeout T, and it sends no Hold
//	 94  2  carry            bytes of others' answers for which the sender has room
//	 96  4  tree K
//	100  4  nodes            N of the tree
//	104  4  root             its rank
//	108  4  RTT              estimates, in µs
//	112  4  guard            per level
//	116  4  bulk             per level, 0 without bulk data
//	120  4  processing
//	124  8  first            sequence of the first attempt of this broadcast
//	132 16  live             digest of the live members, with FlagSubset
//	148 16  bulk data        bits, length
//	164 16  list of members  bits, length, if it has to be fetched
//	180  4  list size        if it is in the message
//	184  4  payload size
//	188  4  segment          of bulk data that is pipelined, or 0
//	192     list of members, payload; with FlagSigned a digest of the bulk data, if
//	        there are any (16 bytes), and an authentication code of package keyring (12),
//	        bound to sender and receiver
type RequestHeader struct {
	ReplyBits       uint64        // match bits for the answer
	Sequence        uint64        // sequence number of the broadcast, per group and root
	RootIncarnation uint64        // incarnation of the root
	Service         ServiceID     // the service that runs the request
	Flags           Flags         // what the request is
	Group           GroupID       // id of the group that the request goes to
	Tree            Tree          // type of tree over the members
	Carry           uint16        // bytes of other members' answers that the sender takes
	Nodes           uint32        // number of nodes of the tree
	Root            uint32        // rank of the root
	RTT             time.Duration // round trip time that the root estimates
	Guard           time.Duration // time that timeouts allow in addition to the RTT, per level of the tree
	BulkTime        time.Duration // estimated time for bulk data, per level; 0 without bulk data
	Processing      time.Duration // estimated time that the services take
	Hold            time.Duration // longest time for which a member may hold the request; 0: see above
	First           uint64        // sequence number of the first attempt of this broadcast
	Live            Digest        // with FlagSubset: digest of the live members
	Bulk            RMA           // where the bulk data can be fetched
	List            RMA           // the list of members, if receivers must fetch it
	ListSize        uint32        // size of the list, if it is in the message
	PayloadSize     uint32        // size of the payload, in bytes
	Segment         uint32        // bytes of a segment of pipelined bulk data; 0: not pipelined
}

// AppendTo appends the header.
func (h *RequestHeader) AppendTo(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, callMagic)
	b = le.AppendUint16(b, Version)
	b = le.AppendUint16(b, RequestHeaderSize)
	b = le.AppendUint64(b, h.ReplyBits)
	b = le.AppendUint64(b, h.Sequence)
	b = le.AppendUint64(b, h.RootIncarnation)
	b = le.AppendUint32(b, uint32(h.Service))
	b = le.AppendUint32(b, uint32(h.Flags))
	b = h.Group.Creator.AppendExtended(b)
	b = le.AppendUint64(b, h.Group.Incarnation)
	b = le.AppendUint64(b, h.Group.Index)
	b = append(b, h.Group.Digest[:]...)
	b = append(b, byte(h.Tree.Type), byte(min(max(h.Hold, 0)/holdUnit, 1<<8-1)))
	b = le.AppendUint16(b, h.Carry)
	b = le.AppendUint32(b, h.Tree.K)
	b = le.AppendUint32(b, h.Nodes)
	b = le.AppendUint32(b, h.Root)
	b = le.AppendUint32(b, micros(h.RTT))
	b = le.AppendUint32(b, micros(h.Guard))
	b = le.AppendUint32(b, micros(h.BulkTime))
	b = le.AppendUint32(b, micros(h.Processing))
	b = le.AppendUint64(b, h.First)
	b = append(b, h.Live[:]...)
	b = le.AppendUint64(b, h.Bulk.Bits)
	b = le.AppendUint64(b, h.Bulk.Length)
	b = le.AppendUint64(b, h.List.Bits)
	b = le.AppendUint64(b, h.List.Length)
	b = le.AppendUint32(b, h.ListSize)
	b = le.AppendUint32(b, h.PayloadSize)
	return le.AppendUint32(b, h.Segment)
}

// ParseRequestHeader parses a header and returns the bytes that follow it: the list of members
// and the payload, of the lengths in the header, and the digest and the authentication code of
// FlagSigned. It does not verify that code. With ErrVersion, ErrBody and ErrHeader the first
// three fields are valid, so that the message can be answered. With ErrShort and ErrMagic no
// field is valid.
func ParseRequestHeader(b []byte) (h RequestHeader, body []byte, err error) {
	le := binary.LittleEndian
	if len(b) < answerableSize {
		return h, b, ErrShort
	}
	if le.Uint32(b) != callMagic {
		return h, b, ErrMagic
	}
	h.ReplyBits = le.Uint64(b[8:])
	h.Sequence = le.Uint64(b[16:])
	h.RootIncarnation = le.Uint64(b[24:])
	if le.Uint16(b[4:]) != Version || le.Uint16(b[6:]) != RequestHeaderSize {
		return h, b, ErrVersion
	}
	if len(b) < RequestHeaderSize || len(b) > MaxMessage {
		return h, b, ErrBody
	}
	h.Service = ServiceID(le.Uint32(b[32:]))
	h.Flags = Flags(le.Uint32(b[36:]))
	if h.Group.Creator, _, err = nid.ParseExtended(b[40:]); err != nil {
		return h, b, ErrHeader
	}
	h.Group.Incarnation = le.Uint64(b[60:])
	h.Group.Index = le.Uint64(b[68:])
	h.Group.Digest = Digest(b[76:])
	h.Tree = Tree{TreeType(b[92]), le.Uint32(b[96:])}
	h.Hold = min(time.Duration(b[93])*holdUnit, MaxHold)
	h.Carry = le.Uint16(b[94:])
	h.Nodes = le.Uint32(b[100:])
	h.Root = le.Uint32(b[104:])
	h.RTT = fromMicros(le.Uint32(b[108:]))
	h.Guard = fromMicros(le.Uint32(b[112:]))
	h.BulkTime = fromMicros(le.Uint32(b[116:]))
	h.Processing = fromMicros(le.Uint32(b[120:]))
	h.First = le.Uint64(b[124:])
	h.Live = Digest(b[132:])
	h.Bulk = RMA{le.Uint64(b[148:]), le.Uint64(b[156:])}
	h.List = RMA{le.Uint64(b[164:]), le.Uint64(b[172:])}
	h.ListSize = le.Uint32(b[180:])
	h.PayloadSize = le.Uint32(b[184:])
	h.Segment = le.Uint32(b[188:])
	return h, b[RequestHeaderSize:], h.check(len(b) - RequestHeaderSize)
}

// check refuses headers with invalid or contradictory fields.
func (h *RequestHeader) check(body int) error {
	if uint64(h.ListSize)+uint64(h.PayloadSize)+uint64(h.ProofSize()) != uint64(body) {
		return ErrBody
	}
	_, ok := h.Tree.Topology()
	oob := h.Flags&FlagOOB != 0
	switch {
	case !ok, h.Flags&^knownFlags != 0, h.Nodes == 0, h.Root >= h.Nodes, h.First > h.Sequence, h.Bulk.Length > MaxBulk,
		oob == h.Group.Creator.IsValid(),
		(h.Flags&FlagList != 0) != (h.ListSize > 0 || h.List.Length > 0),
		h.Segment > 0 && (h.Segment < MinSegment || h.Bulk.Length == 0),
		h.Flags&FlagModule != 0 && h.Bulk.Length > 0,
		h.ListSize > 0 && h.List.Length > 0, oob && h.Flags&FlagList != 0:
		return ErrHeader
	}
	return nil
}

// ProofSize returns the size of the digest and the authentication code that FlagSigned adds.
func (h *RequestHeader) ProofSize() int {
	if h.Flags&FlagSigned == 0 {
		return 0
	}
	return h.SumSize() + keyring.CodeSize
}

// SumSize returns the size of the digest of the bulk data.
func (h *RequestHeader) SumSize() int {
	if h.Flags&FlagSigned == 0 || h.Bulk.Length == 0 {
		return 0
	}
	return len(Digest{})
}

// MaxTime is the longest time that a field of the header can express, about 71 minutes and 35 seconds.
const MaxTime = (1<<32 - 1) * time.Microsecond

// Fits reports whether the header can express its times.
func (h *RequestHeader) Fits() bool {
	return max(h.RTT, h.Guard, h.BulkTime, h.Processing) <= MaxTime && min(h.RTT, h.Guard, h.BulkTime, h.Processing) >= 0
}

// micros rounds up to whole µs, so that no timeout becomes shorter.
func micros(d time.Duration) uint32 {
	return uint32((min(max(d, 0), MaxTime) + time.Microsecond - 1) / time.Microsecond)
}

func fromMicros(us uint32) time.Duration { return time.Duration(us) * time.Microsecond }
