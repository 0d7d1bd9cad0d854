package engine

import (
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// InputKind tells inputs apart.
type InputKind uint8

// The kinds of inputs, with the fields of [Input] that they use.
const (
	Timer      InputKind = iota
	Arrival              // From, Data, Multicast: a datagram arrived, by multicast or not
	Control              // From, Data: a control message arrived
	Instructed           // From, Data: a message of a manager arrived
	Send                 // Data, Token: send a message; Accepted, Full or Lost answer in the same step
	Join                 // take part, or again after Expelled
	Leave                // stop taking part
	SetFaults            // Faults
	Health               // From, Alive: what discovery says, for a Manager
	Expel                // From: an administrator says that the members on a node have ended, for a Manager
)

// Input is what a [Machine] or a [Manager] steps on; the zero value is the timer. Data is valid
// during Step.
type Input struct {
	Kind      InputKind
	From      nid.NID
	Data      []byte
	Multicast bool // it came by multicast, as anybody on the network may have sent it
	Token     any
	Faults    Faults
	Alive     bool
}

// EffectKind tells effects apart.
type EffectKind uint8

// The kinds of effects, with the fields of [Effect] that they use. Head is a range
// of Output.Buf, and Failed one of Output.IDs.
const (
	DoMulticast EffectKind = 1 + iota // Head, Data: send a datagram to the group
	DoRepair                          // To, Head, Data: send a datagram to a member
	DoControl                         // To, Head: send a control message
	DoReport                          // To, Head: send a message to a manager

	Deliver  // Origin, Number, Seq, Data: a message for the user
	Accepted // Token, Seq: the message will be sent
	Full     // Token: it will not, until Room
	Room     // there may be room
	Released // Token, Seq, Version, Failed, Why: all members have it but those who failed; Why is ErrSplit if one of them may live
	Lost     // Token, Why: nobody knows who has it
	Joined   // Version: this node is a member, and may send
	Changed  // Version: there is another list of members
	Gone     // Why: this node is no member any more
	Suspect  // Origin, Seq, Member: it keeps an origin waiting
	Deaf     // Origin: datagrams come as repairs only: is there multicast at all?
	Elected  // this Manager manages the group now
	Resigned // no longer: To does
	Refused  // To, Why: messages between members and managers are refused, now and then
	Denied   // To, Why: another node refuses ours
	Quorum   // Why: the group cannot elect, or change, as this Manager hears too few members; nil: it can again
)

// Effect is one thing that a step wants done. Data belongs to the Output of the step,
// and is valid until that is reset, whatever steps are made meanwhile.
type Effect struct {
	Kind    EffectKind
	To      nid.NID
	Origin  wire.ID
	Member  wire.ID
	Number  uint32
	Seq     uint64
	Version wire.Version
	Token   any
	Why     error
	Head    Range
	Data    []byte
	Failed  Range
}

// Range is a part of one of an Output's buffers.
type Range struct{ Begin, End int }

// Output is what a [Machine] wants done, in order: an acknowledgement stands behind
// the delivery that it is of.
type Output struct {
	Effects []Effect
	Buf     []byte
	IDs     []wire.ID
}

func (o *Output) emit(e Effect) { o.Effects = append(o.Effects, e) }

// order sends a message from or to a manager.
func (o *Output) order(to nid.NID, m *wire.Order) {
	begin := len(o.Buf)
	o.Buf = m.AppendTo(o.Buf)
	o.emit(Effect{Kind: DoReport, To: to, Head: Range{begin, len(o.Buf)}})
}

// keptBuf is how much memory of an Output is kept, in bytes.
const keptBuf = 1 << 20

// Reset empties o and keeps its memory, unless that is a lot.
func (o *Output) Reset() {
	clear(o.Effects)
	if cap(o.Buf) > keptBuf {
		o.Buf = nil
	}
	o.Effects, o.Buf, o.IDs = o.Effects[:0], o.Buf[:0], o.IDs[:0]
}
