package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// Sizes in bytes.
const (
	MessageSize = 160 // size of every message
	MaxName     = 31  // longest name of a session or group
)

// Version is the version of the protocol, the same in all releases of Lustre.
const Version = 1

const magic uint32 = 0xeeb0f00d

// Errors of parsing. A node drops a message with ErrSize or ErrMagic without an answer.
var (
	ErrSize    = errors.New("selftest: a message must have 160 bytes")
	ErrMagic   = errors.New("selftest: the magic is not that of selftest")
	ErrVersion = errors.New("selftest: another protocol version")
	ErrType    = errors.New("selftest: unknown type of message")
)

// Errors of encoding: a field has a value that the message cannot carry.
var (
	ErrNID          = errors.New("selftest: a session or destination needs a NID with a 4-byte address; IPv6 has no form in selftest")
	ErrName         = errors.New("selftest: a name must have 31 bytes at most, none of them zero")
	ErrRange        = errors.New("selftest: operation and check of a test must be below 65536")
	ErrDestinations = errors.New("selftest: a list must have 341 destinations at most")
)

// Header is what every message begins with, see the package comment.
type Header struct {
	Type      Type     // what the message is
	Features  Features // features of the session
	BigEndian bool     // the sender is a big-endian host
}

// Message is a request or a reply.
type Message struct {
	Header
	ReplyID uint64 // in a request: the match bits for its reply
	Status  Status // in a reply: how the request ended
	Body    Body   // the fields that follow, a pointer to the struct of Type
}

// Body is the part of a message that depends on its type: a pointer to the struct of a request or
// of a reply, such as Batch or BatchReply.
type Body interface {
	// Type returns the type of messages with this body.
	Type() Type
	// fields walks over the fields after the reply id or status.
	fields(c *cursor, h *Header)
}

// AppendBinary appends the message. The type is that of Body; Header.Type is ignored. The
// errors are ErrNID, ErrName and ErrRange; b is returned unchanged then.
func (m *Message) AppendBinary(b []byte) ([]byte, error) {
	start := len(b)
	b = append(b, make([]byte, MessageSize)...)
	c := cursor{b: b[start:], bigEndian: m.BigEndian}
	h := m.Header
	h.Type = m.Body.Type()
	id, version := magic, uint32(Version)
	field32(&c, &id)
	field32(&c, &version)
	field32(&c, &h.Type)
	c.at += 8 // reserved
	field32(&c, &h.Features)
	if h.Type.IsReply() {
		field32(&c, &m.Status)
	} else {
		field64(&c, &m.ReplyID)
	}
	walk(m.Body, &c, &h)
	if c.err != nil {
		return b[:start], c.err
	}
	return b, nil
}

// ParseMessage parses a message, which must be all of b. With ErrVersion or ErrType, which are
// wrapped in an error with the number, the header is valid, and so is ReplyID if the message is no
// reply: a server refuses such a request with EPROTO or drops it. With other errors nothing is valid.
func ParseMessage(b []byte) (m Message, err error) {
	c, version, err := parseHeader(b, &m)
	if err != nil {
		return m, err
	}
	if m.Type.IsReply() {
		field32(&c, &m.Status)
	} else {
		field64(&c, &m.ReplyID)
	}
	switch {
	case version != Version:
		return m, fmt.Errorf("%w: %d", ErrVersion, version)
	case m.Type >= types:
		return m, fmt.Errorf("%w: %d", ErrType, uint32(m.Type))
	}
	m.Body = newBody(m.Type)
	walk(m.Body, &c, &m.Header)
	return m, nil
}

// walk walks over the fields of a body. For the messages of tests, which are the most frequent ones, it
// calls the method of the concrete type, so that cursor and header do not escape to the heap.
func walk(body Body, c *cursor, h *Header) {
	switch b := body.(type) {
	case *Ping:
		b.fields(c, h)
	case *PingReply:
		b.fields(c, h)
	case *BRW:
		b.fields(c, h)
	case *BRWReply:
		b.fields(c, h)
	default:
		cursor, header := *c, *h
		body.fields(&cursor, &header)
		*c = cursor
	}
}

// parseHeader parses the fields that every version has.
func parseHeader(b []byte, m *Message) (c cursor, version uint32, err error) {
	if len(b) != MessageSize {
		return c, 0, ErrSize
	}
	c = cursor{b: b, at: 4, read: true}
	switch found := binary.LittleEndian.Uint32(b); found {
	case magic:
	case bits.ReverseBytes32(magic):
		c.bigEndian = true
	default:
		return c, 0, ErrMagic
	}
	m.BigEndian = c.bigEndian
	field32(&c, &version)
	field32(&c, &m.Type)
	c.at += 8 // reserved
	field32(&c, &m.Features)
	return c, version, nil
}

// newBody returns an empty body for a known type.
func newBody(t Type) Body {
	switch t {
	case TypeMakeSession:
		return &MakeSession{}
	case TypeMakeSession.Reply():
		return &MakeSessionReply{}
	case TypeRemoveSession:
		return &RemoveSession{}
	case TypeRemoveSession.Reply():
		return &RemoveSessionReply{}
	case TypeBatch:
		return &Batch{}
	case TypeBatch.Reply():
		return &BatchReply{}
	case TypeStat:
		return &Stat{}
	case TypeStat.Reply():
		return &StatReply{}
	case TypeTest:
		return &Test{}
	case TypeTest.Reply():
		return &TestReply{}
	}
	return newOther(t)
}

// newOther is newBody for the types that newBody itself does not list.
func newOther(t Type) Body {
	switch t {
	case TypeDebug:
		return &Debug{}
	case TypeDebug.Reply():
		return &DebugReply{}
	case TypeBRW:
		return &BRW{}
	case TypeBRW.Reply():
		return &BRWReply{}
	case TypePing:
		return &Ping{}
	case TypePing.Reply():
		return &PingReply{}
	case TypeJoin:
		return &Join{}
	}
	return &JoinReply{}
}
