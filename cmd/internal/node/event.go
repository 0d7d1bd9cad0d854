package node

import (
	"errors"
	"fmt"
	"strconv"
	"syscall"

	"ulnet/lnet/nid"
	"ulnet/portals"
)

// Bits are 64 bits that do not stand for a number, such as match bits and header data. Their
// text is hexadecimal; UnmarshalText accepts every base of Go's integer literals.
type Bits uint64

func (b Bits) String() string { return fmt.Sprintf("%#x", uint64(b)) }

// MarshalText returns what String returns.
func (b Bits) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText parses a number such as 0x1f, 31 or 0b11111.
func (b *Bits) UnmarshalText(text []byte) error {
	v, err := strconv.ParseUint(string(text), 0, 64)
	if err != nil {
		return fmt.Errorf("%q is not a 64-bit number, such as 0x1f", text)
	}
	*b = Bits(v)
	return nil
}

// Event is a portals event with the names of struct lnet_event.
type Event struct {
	Type      string        `json:"type"`               // kind of the event: GET, PUT, REPLY, ACK, SEND or UNLINK
	Target    nid.ProcessID `json:"target"`             // the process that the operation is for
	Initiator nid.ProcessID `json:"initiator"`          // the process that started the operation
	Source    nid.ProcessID `json:"source"`             // Initiator with the NID that the message came from
	Sender    nid.NID       `json:"sender"`             // NID of the last hop, which sent the message
	Portal    int           `json:"pt_index"`           // index of the portal at the target
	MatchBits Bits          `json:"match_bits"`         // match bits of the operation
	RLength   uint32        `json:"rlength"`            // bytes that were requested
	MLength   uint32        `json:"mlength"`            // bytes that were transferred
	Offset    uint32        `json:"offset"`             // offset in the memory of the MD, in bytes
	HdrData   Bits          `json:"hdr_data"`           // with PUT: header data
	MsgType   string        `json:"msg_type,omitempty"` // type of the message; an UNLINK has none
	MD        Bits          `json:"md_handle"`          // handle of the MD, which only this node can interpret
	Options   uint32        `json:"md_options"`         // options of the MD: LNET_MD_* bits
	Status    int           `json:"status"`             // result of the operation: 0 or a negative errno
	Unlinked  bool          `json:"unlinked"`           // the MD was unlinked: no event follows
}

func newEvent(e *portals.Event) *Event {
	event := &Event{
		Type: e.Kind.String(), Target: e.Target, Initiator: e.Initiator, Source: e.Source,
		Sender: e.Sender, Portal: e.Portal, MatchBits: Bits(e.MatchBits),
		RLength: e.RLength, MLength: e.MLength, Offset: e.Offset, HdrData: Bits(e.HdrData),
		MD: Bits(e.MD), Options: uint32(e.Options &^ (portals.Priority | portals.MayBlock)),
		Status: status(e.Err), Unlinked: e.Unlinked,
	}
	if e.Kind != portals.EventUnlink {
		event.MsgType = e.MsgType.String()
	}
	return event
}

// status is the negative errno that LNet would report for err.
func status(err error) int {
	if err == nil {
		return 0
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return -int(errno)
	}
	return -int(syscall.EIO)
}

// A Step is something that happened during an operation. Exactly one of Ready, Event
// and Missed is set.
type Step struct {
	Ready  bool   `json:"ready,omitempty"`  // messages are received from now on
	Event  *Event `json:"event,omitempty"`  // the event of a message
	Missed int    `json:"missed,omitempty"` // events that were dropped because Report was too slow

	// Payload is the payload of Event. It is valid until Report returns.
	Payload []byte `json:"-"`
}

// Attached returns the payload of a step.
func (s Step) Attached() []byte { return s.Payload }

// Attach returns the step with a payload.
func (s Step) Attach(payload []byte) Step {
	s.Payload = payload
	return s
}

// Report is called with every step of an operation, in order, from one goroutine. If it
// returns an error the operation ends with that error.
type Report = func(Step) error
