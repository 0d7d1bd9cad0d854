package wire

import (
	"encoding/binary"
	"fmt"

	"ulnet/portals/keyring"
)

// ReplyFlags say what a reply is.
type ReplyFlags uint32

// The flags of replies.
const (
	ReplyLast       ReplyFlags = 1 << iota // this is the last part of the reply
	ReplyCollective                        // an error of the sender's module, which stands for its whole subtree
	ReplySigned                            // an authentication code of package keyring ends the message
	knownReplyFlags = ReplyLast | ReplyCollective | ReplySigned
)

// ReplyHeader begins every message up the tree, little-endian:
//
//	 0  4  magic            "SCOL"
//	 4  2  version
//	 6  2  size             of the header
//	 8  8  root incarnation of the broadcast
//	16  8  sequence
//	24  4  flags
//	28  4  status           without ReplyCollective: the reason why the module answers
//	                        in place of the sender's service
//	32  4  part             number of this message, from 0
//	36  4  payload size
//	40  4  trailer          number of entries
//	44  4  nodes            that an error stands for
//	48  4  entities         on them
//	52  4  carried          bytes of answers that are passed on, see Carried; then there is no
//	                        payload
//	56     payload or carried answers, trailer; with ReplySigned an authentication code
//	       of package keyring (12), bound to sender, receiver and match bits
type ReplyHeader struct {
	RootIncarnation uint64     // identifies the broadcast, with Sequence, group and root
	Sequence        uint64     // sequence number of the broadcast
	Flags           ReplyFlags // what the reply is
	Status          Status     // OK, or why the module answers in place of the service
	Part            uint32     // number of this message of the reply, from 0
	PayloadSize     uint32     // size of the payload in bytes
	Trailer         uint32     // number of entries of the trailer
	Nodes           uint32     // with ReplyCollective: nodes that the error stands for
	Entities        uint32     // number of entities on these nodes
	Carried         uint32     // bytes of carried answers that follow
}

// AppendTo appends the header.
func (h *ReplyHeader) AppendTo(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, callMagic)
	b = le.AppendUint16(b, Version)
	b = le.AppendUint16(b, ReplyHeaderSize)
	b = le.AppendUint64(b, h.RootIncarnation)
	b = le.AppendUint64(b, h.Sequence)
	b = le.AppendUint32(b, uint32(h.Flags))
	b = le.AppendUint32(b, uint32(h.Status))
	b = le.AppendUint32(b, h.Part)
	b = le.AppendUint32(b, h.PayloadSize)
	b = le.AppendUint32(b, h.Trailer)
	b = le.AppendUint32(b, h.Nodes)
	b = le.AppendUint32(b, h.Entities)
	return le.AppendUint32(b, h.Carried)
}

// ParseReplyHeader parses a header. It does not check rest, the bytes that follow: payload and
// trailer may be in other memory. Errors are ErrShort, ErrMagic, ErrVersion and ErrHeader.
func ParseReplyHeader(b []byte) (h ReplyHeader, rest []byte, err error) {
	le := binary.LittleEndian
	if len(b) < ReplyHeaderSize {
		return h, b, ErrShort
	}
	if le.Uint32(b) != callMagic {
		return h, b, ErrMagic
	}
	if le.Uint16(b[4:]) != Version || le.Uint16(b[6:]) != ReplyHeaderSize {
		return h, b, ErrVersion
	}
	h.RootIncarnation = le.Uint64(b[8:])
	h.Sequence = le.Uint64(b[16:])
	h.Flags = ReplyFlags(le.Uint32(b[24:]))
	status := le.Uint32(b[28:])
	h.Status = Status(status)
	h.Part = le.Uint32(b[32:])
	h.PayloadSize = le.Uint32(b[36:])
	h.Trailer = le.Uint32(b[40:])
	h.Nodes = le.Uint32(b[44:])
	h.Entities = le.Uint32(b[48:])
	h.Carried = le.Uint32(b[52:])
	if status > 1<<16-1 || h.Flags&^knownReplyFlags != 0 || !h.isConsistent() {
		return h, b, ErrHeader
	}
	return h, b[ReplyHeaderSize:], nil
}

// Speaks reports whether the sender's module answers in place of its service.
func (h *ReplyHeader) Speaks() bool { return h.Status != OK && h.Flags&ReplyCollective == 0 }

// isConsistent reports whether the fields of the reply agree. Carried answers may come only
// from a module that answers in place of its service, and such a reply must be the last part
// and have no payload.
func (h *ReplyHeader) isConsistent() bool {
	if !h.Speaks() {
		return h.Carried == 0
	}
	return h.Flags&ReplyLast != 0 && h.PayloadSize == 0 && h.Carried <= MaxCarry
}

// CodeSize returns the size of the authentication code at the end of the reply, 0 if the reply
// is not signed.
func (h *ReplyHeader) CodeSize() int {
	if h.Flags&ReplySigned == 0 {
		return 0
	}
	return keyring.CodeSize
}

// Scope says which members an entry of a trailer is about.
type Scope uint8

// The scopes.
const (
	Node    Scope = 1 // the entry is about the member alone
	Subtree Scope = 2 // the entry is about the member and all members below
)

// Missing is an entry of a trailer: one or more members whose answer did not arrive, and the
// reason. Such members may have run the request nevertheless.
//
//	0  4  rank
//	4  2  status
//	6  1  scope
//	7  1  reserved
type Missing struct {
	Rank   uint32 // rank of the member, or of the topmost member of a subtree
	Status Status // why the member is missing; not OK
	Scope  Scope  // the member alone, or its subtree
}

// String returns "rank 3: timed out", with "below" for a subtree.
func (e Missing) String() string {
	below := ""
	if e.Scope == Subtree {
		below = " and below"
	}
	return fmt.Sprintf("rank %d%s: %v", e.Rank, below, e.Status)
}

// AppendTo appends the entry.
func (e Missing) AppendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, e.Rank)
	b = binary.LittleEndian.AppendUint16(b, uint16(e.Status))
	return append(b, byte(e.Scope), 0)
}

// ParseMissing parses an entry. Errors are ErrShort and ErrHeader.
func ParseMissing(b []byte) (e Missing, rest []byte, err error) {
	if len(b) < TrailerEntrySize {
		return e, b, ErrShort
	}
	e.Rank = binary.LittleEndian.Uint32(b)
	e.Status = Status(binary.LittleEndian.Uint16(b[4:]))
	e.Scope = Scope(b[6])
	if e.Scope != Node && e.Scope != Subtree || e.Status == OK {
		return e, b, ErrHeader
	}
	return e, b[TrailerEntrySize:], nil
}
