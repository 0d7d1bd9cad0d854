package capture

import (
	"bytes"
	"errors"
	"net/netip"
	"time"

	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Side tells the two ends of a connection apart.
type Side uint8

// The sides: the initiator sent the SYN, the acceptor listened.
const (
	Initiator Side = iota
	Acceptor
)

// Other returns the other side.
func (s Side) Other() Side { return 1 - s }

// Conn is one connection of a capture, of TCP or of RoCE. The initiator of a RoCE connection is
// the side that sent the CM message REQ or, if the capture lacks that, the first packet. Two
// connections that use the same ports one after the other are two Conns.
type Conn struct {
	ID         int               // number of the connection, counted from 1 in order of appearance
	Ends       [2]netip.AddrPort // IP address and port of each side, by Side
	FirstFrame uint64            // number of the first packet of the connection in the capture
	MidStream  bool              // the connection's beginning is not in the capture
	Version    ksock.Version     // version in the last HELLO; 0 before the first one
	NIDs       [2]nid.NID        // NIDs that the sides give themselves, by Side
	RoCE       bool              // the connection is one of two RoCE queue pairs, not of TCP
	QPs        [2]uint32         // RoCE: the numbers of the queue pairs, 0 if not known
	TCP        [2]TCPCounts      // what TCP did, by sending side, so far; zero if RoCE is set
}

// TCPCounts are about the segments that one side of a connection sent.
type TCPCounts struct {
	Repeated    uint64        // segments of which all bytes had been captured before: retransmissions
	Late        uint64        // segments captured after later ones: retransmissions of segments lost before the point of capture, or reordered ones
	ZeroWindows uint64        // how often the side closed its receive window
	ZeroWindow  time.Duration // for how long the window was closed, all times together
}

// Stamp is the position of a packet in its capture.
type Stamp struct {
	Time  time.Time // when the packet was captured
	Frame uint64    // number of the packet, from 1
}

// Kind tells what a Record is about.
type Kind uint8

// The kinds of records. Request to Message are messages on the wire, Unknown are bytes
// without meaning, the others are about the connection.
const (
	Opened    Kind = iota + 1 // the first packet of a connection was captured
	Request                   // an acceptor request
	Refusal                   // the acceptor's answer to a request that it cannot grant
	Hello                     // a HELLO of any version
	Noop                      // a ksock header without an LNet message
	Message                   // an LNet message
	Unknown                   // Record.Length bytes that mean nothing; Record.Err says why
	Lost                      // Record.Length bytes are missing from the capture
	MidStream                 // the beginning of the connection is missing from the capture
	Closed                    // the connection ended; Err is nil after FIN or DREP

	// The kinds of RoCE alone. The record of a message follows the RocePacket that completes
	// the message. In a Lost of RoCE, Length counts packets.
	RocePacket // one packet as it is; if Err is set it could not be understood
	CMMessage  // a message of the connection manager
	Exchange   // a message of o2iblnd without an LNet header
)

// The reasons for which bytes are Unknown or a connection has ended, besides the errors of the
// packages that parse the bytes.
var (
	ErrCut       = errors.New("record is cut short")
	ErrLost      = errors.New("bytes before it are lost")
	ErrMidStream = errors.New("capture begins inside the connection")
	ErrReset     = errors.New("connection was reset")
	ErrReused    = errors.New("ports were used again")
	ErrOpenEnd   = errors.New("capture ends inside the connection")
	ErrEvicted   = errors.New("too many open connections")
)

// ChecksumState is the outcome of checking a message's checksum.
type ChecksumState uint8

// Outcomes of the check of a checksum.
const (
	ChecksumNone      ChecksumState = iota // the sender sent no checksum
	ChecksumGood                           // the checksum is correct
	ChecksumBad                            // the checksum is wrong, in socklnd's v2 or in a message of o2iblnd without payload
	ChecksumUnchecked                      // not decided: bytes are missing, or the sum differs in v3, v4 or a message of o2iblnd with payload, where that proves nothing
)

// Record is one thing that a capture shows. It and everything that it points to belong to the
// decoder and are valid during the call of emit.
type Record struct {
	Kind Kind // says which of the other fields are set
	Stamp
	Conn *Conn // the connection that the record is about
	From Side  // the side that sent the bytes

	Offset uint64 // offset of the record's first byte in the stream of its side
	Length uint64 // number of bytes that the record takes in the stream
	Raw    []byte // the bytes of the record, as far as they were captured and kept
	Err    error  // what is wrong with the record; nil: nothing

	Request wire.AcceptorRequest // set for the kinds Request and Refusal
	Hello   ksock.Hello          // set for the kind Hello
	Framed  bool                 // for the kind Message: a ksock header precedes the LNet header (v2 to v4)
	Ksock   ksock.MsgHeader      // set for the kind Noop, and for Message if Framed
	Large   bool                 // for the kind Message: the header has the 96-byte form (v4)
	Header  wire.Header          // set for the kind Message
	Payload []byte               // set for the kind Message: the part of the payload that was kept
	Missing uint32               // for the kind Message: payload bytes that the capture lacks

	Checksum ChecksumState // set for the kinds Noop, Message and Exchange

	RoCE *RoCE // further fields of RoCE; nil over TCP

	// Datagram says that a Message is a multicast datagram. Its Conn stands for no connection and
	// has no ID; Ends[Acceptor] is the group's address.
	Datagram bool
}

// Src returns the address of the sending side.
func (r *Record) Src() netip.AddrPort { return r.Conn.Ends[r.From] }

// Dst returns the address of the receiving side.
func (r *Record) Dst() netip.AddrPort { return r.Conn.Ends[r.From.Other()] }

// Type returns the kind of a message on the wire in one word: ACCEPTOR, HELLO, NOOP, ACK, PUT,
// GET, REPLY, CM, or for an Exchange o2iblnd's type; empty for all other records.
func (r *Record) Type() string {
	switch r.Kind {
	case Request, Refusal:
		return "ACCEPTOR"
	case Hello:
		return "HELLO"
	case Noop:
		return "NOOP"
	case Message:
		return r.Header.Type.String()
	case CMMessage:
		return "CM"
	case Exchange:
		return r.RoCE.Msg.Type.String()
	}
	return ""
}

// Portal returns the portal of a PUT or GET, also for a message of o2iblnd that moves its
// payload.
func (r *Record) Portal() (uint32, bool) {
	if r.Kind != Message && (r.Kind != Exchange || r.RoCE.Transfer == nil) {
		return 0, false
	}
	switch r.Header.Type {
	case wire.Put:
		return r.Header.Put().Portal, true
	case wire.Get:
		return r.Header.Get().Portal, true
	}
	return 0, false
}

// PingInfo returns the ping info that r carries: a push, or a REPLY whose payload begins like
// one. If the record keeps only a part of the payload, the result has that part. PingInfo returns
// false if the capture lacks some of the payload.
func (r *Record) PingInfo() (wire.PingInfo, bool) {
	if r.Kind != Message || r.Missing > 0 || len(r.Payload) < 4 {
		return wire.PingInfo{}, false
	}
	portal, request := r.Portal()
	if r.Header.Type != wire.Reply && (!request || portal != wire.PingPortal) {
		return wire.PingInfo{}, false
	}
	p, _, err := wire.ParsePingInfo(r.Payload)
	return p, err == nil || errors.Is(err, wire.ErrShort) && p.PID != 0
}

// AppendBinary encodes the decoded fields. For a complete record of a sender that keeps to
// the format the result equals Raw.
func (r *Record) AppendBinary(b []byte) ([]byte, error) {
	var err error
	if r.RoCE != nil {
		return r.appendRoCE(b)
	}
	switch r.Kind {
	case Request, Refusal:
		return r.Request.AppendBinary(b)
	case Hello:
		return r.Hello.AppendBinary(b)
	case Noop:
		return r.Ksock.AppendBinary(b)
	case Unknown:
		return append(b, r.Raw...), nil
	case Message:
		if r.Datagram {
			return r.appendDatagram(b)
		}
		if r.Framed {
			b, _ = r.Ksock.AppendBinary(b) // AppendBinary of this type never returns an error
		}
		if r.Large {
			b, err = r.Header.AppendLarge(b)
		} else {
			b, err = r.Header.AppendBinary(b)
		}
		return append(b, r.Payload...), err
	}
	return b, nil
}

// Clone returns a copy of r that stays valid.
func (r *Record) Clone() *Record {
	c := *r
	c.Raw = bytes.Clone(r.Raw)
	if r.RoCE != nil {
		c.RoCE = r.RoCE.clone()
		c.Payload = bytes.Clone(r.Payload)
		return &c
	}
	if r.Kind == Message {
		c.Payload = c.Raw[len(c.Raw)-len(r.Payload):]
	}
	return &c
}
