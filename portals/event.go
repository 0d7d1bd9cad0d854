package portals

import (
	"bytes"
	"fmt"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// EventKind says what an event reports, with LNet's numbers.
type EventKind uint8

// Kinds of events (lnet_event_kind).
const (
	EventGet    EventKind = 1 // at the target: the REPLY to a GET has left
	EventPut    EventKind = 2 // at the target: the data of a PUT is in the MD
	EventReply  EventKind = 3 // at the initiator: the data of a GET is in the MD
	EventAck    EventKind = 4 // at the initiator: the target has accepted a PUT
	EventSend   EventKind = 5 // at the initiator: a PUT or GET has left this node
	EventUnlink EventKind = 6 // the MD was unlinked: by a call, or because an answer did not come in time
)

func (k EventKind) String() string {
	names := [...]string{EventGet: "GET", EventPut: "PUT", EventReply: "REPLY", EventAck: "ACK", EventSend: "SEND", EventUnlink: "UNLINK"}
	if int(k) < len(names) && names[k] != "" {
		return names[k]
	}
	return fmt.Sprintf("EventKind(%d)", uint8(k))
}

// Event reports one step of an operation (struct lnet_event). A handler gets a
// pointer that is valid during the call; copy the value to keep it. Fields
// that a kind does not use are zero.
type Event struct {
	Kind   EventKind     // what has happened
	Target nid.ProcessID // the process that the message is addressed to
	// Initiator is the sender of the message: the primary NID of its node if discovery has
	// confirmed it, else the same NID as in Source. In a SEND event the NID is Any, and the
	// PID is this node's own.
	Initiator nid.ProcessID
	Source    nid.ProcessID // the sender under the NID that the message came from
	Sender    nid.NID       // NID of the previous hop: the source or a router
	Group     Group         // multicast group that a PUT was sent to; 0: to this node alone
	// Incarnation is that of the previous hop's NI, which changes when the NI restarts, see [lnd.Delivery].
	// 0: unknown. Like ReceivedAt, it is set for messages that this node has received.
	Incarnation uint64
	MsgType     wire.MsgType // type of the message: tells a PUT's SEND from a GET's
	Portal      int          // portal index of the target; 0 in ACK and REPLY events
	MatchBits   uint64       // match bits of the message
	RLength     uint32       // bytes asked for; 0 at the target of a GET
	MLength     uint32       // number of bytes that were moved
	Offset      uint32       // offset of the first byte moved in the MD; SEND: the offset asked for
	HdrData     uint64       // the 64 bits of header data of a PUT
	// ReceivedAt is when the driver had read the message, on the node's clock: before it
	// waited for a handler or on a lazy portal. Set in PUT, GET, ACK and REPLY events.
	ReceivedAt time.Duration

	MD       MDHandle      // handle of the MD that the operation used
	Segments []lnd.Segment // memory of the MD
	Options  MDOption      // options of the MD
	UserPtr  any           // user pointer of the MD
	OpPtr    any           // value given to Put or Get; set in SEND, ACK and REPLY events

	Err      error  // nil, or the errno with which the operation failed
	Unlinked bool   // this is the MD's last event
	Sequence uint64 // number in the EQ, from 1; 0 without EQ
}

// Payload names the bytes of the MD that the operation moved: those of a PUT,
// GET or REPLY event. It is empty for the other kinds.
func (e *Event) Payload() lnd.Payload {
	if e.Kind != EventPut && e.Kind != EventGet && e.Kind != EventReply {
		return lnd.Payload{}
	}
	return lnd.Payload{Segments: e.Segments, Offset: int(e.Offset), Length: int(e.MLength)}
}

// Bytes returns the bytes that the operation moved. If they are contiguous it returns a view of
// the MD, which is valid until the MD's memory is used again; otherwise it returns a copy.
func (e *Event) Bytes() []byte {
	pieces := e.Payload().Append(nil)
	switch len(pieces) {
	case 0:
		return nil
	case 1:
		return pieces[0]
	}
	return bytes.Join(pieces, nil)
}

func (e *Event) String() string {
	s := fmt.Sprintf("%v portal %d bits %#x from %v to %v: %d of %d bytes at %d",
		e.Kind, e.Portal, e.MatchBits, e.Initiator, e.Target, e.MLength, e.RLength, e.Offset)
	if e.Err != nil {
		s += ", " + e.Err.Error()
	}
	if e.Unlinked {
		s += ", unlinked"
	}
	return s
}
