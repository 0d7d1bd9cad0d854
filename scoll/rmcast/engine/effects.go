package engine

import (
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// InputKind is a kind of [Input].
type InputKind uint8

// The kinds of inputs, and the fields of [Input] that they use.
const (
	Timer      InputKind = iota
	Arrival              // uses From, Data, Multicast: a datagram arrived, by multicast or not
	Control              // uses From, Data: a control message arrived
	Instructed           // uses From, Data, Wall: a message of a manager arrived
	Send                 // uses Data, Token: send a message; Accepted, Full or Lost answer in the same step
	Join                 // become a member, also again after Gone
	Leave                // stop being a member
	SetFaults            // uses Faults: discard messages from now on
	Health               // uses From, Alive, Doubt: discovery reports a node, to a Manager
	Ended                // uses From: a death that was reported with Doubt is certain, to a Manager
	Expel                // uses From: an administrator says that the members on a node have ended, to a Manager
)

// Input is one input of a [Machine] or a [Manager]. The zero value says that a timer has
// expired. Data is valid during Step only.
type Input struct {
	Kind      InputKind // what happened
	From      nid.NID   // sender of the message, or the node that the input is about
	Data      []byte    // the message; the machine does not keep it
	Wall      uint64    // the wall clock in nanoseconds since 1970; 0: not known
	Multicast bool      // the datagram came by multicast, so any host on the network may have sent it
	Token     any       // chosen by the caller; returned in the effects about the message
	Faults    Faults    // used by SetFaults
	Alive     bool      // used by Health: the node is alive
	Doubt     bool      // used by Health: the node may be alive on the other side of a partition; a death counts when Ended follows
}

// EffectKind is a kind of [Effect].
type EffectKind uint8

// The kinds of effects, and the fields of [Effect] that they use. Head is a range of
// Output.Buf, and Failed is a range of Output.IDs.
const (
	DoMulticast EffectKind = 1 + iota // uses Head, Data: send a datagram to the group
	DoRepair                          // uses To, Head, Data: send a datagram to a member
	DoControl                         // uses To, Head: send a control message
	DoReport                          // uses To, Head, Data: send a message to a manager, or from a manager

	Deliver  // Origin, Number, Seq, Data: deliver a message to the user
	Accepted // Token, Seq: the message was taken and will be sent
	Full     // uses Token: the window has no room; Room follows
	Room     // there may be room in the window
	Released // Token, Seq, Version, Failed, Why: all members have it except Failed; Why is ErrSplit if one of these may be alive
	Lost     // uses Token, Why: it is unknown which members have the message
	Joined   // Version: this node is a member and may send
	Changed  // uses Version: there is a new list of members
	Gone     // uses Why: this node is not a member any more
	Suspect  // uses Origin, Seq, Member: a child does not acknowledge
	Deaf     // uses Origin: datagrams of Origin arrive as repairs only; multicast may not work
	Elected  // this Manager manages the group now
	Resigned // uses To: this Manager does not manage the group any more, To does
	Refused  // uses To, Why: this node refuses messages of the node To; rate-limited
	Denied   // uses To, Why: the node To refuses messages of this node
	Doubting // other deaths than before may matter to this Manager, and some are not certain: discovery is to be asked about them, see Doubted
	Quorum   // uses Why: this Manager hears too few members to be elected or to change the group; Why nil: it hears enough again
	Merged   // a datagram that Merge has packed into an earlier one; nothing is to be done
)

// Effect is one action that a step asks for. Data belongs to the Output of the step and stays
// valid until Output.Reset, also while further steps are made.
type Effect struct {
	Kind     EffectKind   // what to do
	Refusal  bool         // DoReport of a Manager: the message answers one that changed nothing, and that any node may have sent
	Stranger bool         // with Refusal: the receiver may not be a member
	To       nid.NID      // receiver, or the node that the effect is about
	Origin   wire.ID      // member that sent the message
	Member   wire.ID      // the member that the effect is about
	Number   uint32       // communication number of Origin
	Seq      uint64       // sequence number of the message's first datagram
	Version  wire.Version // version of the list of members
	Token    any          // Token of the Input that asked for the sending
	Why      error        // reason of the failure; nil: success
	Head     Range        // header of the message, in Output.Buf
	Data     []byte       // payload of the message, or its lists, which follow Head
	Failed   Range        // members that have failed, in Output.IDs
}

// Range is a part of one of an Output's buffers, from Begin up to but not including End.
type Range struct {
	Begin, End int // indexes of the first element, and of the one after the last
}

// Output holds the effects of a step. They must be applied in this order, since an
// acknowledgement must come after the delivery that it confirms.
type Output struct {
	Effects []Effect  // to be applied in order
	Buf     []byte    // headers and payloads, owned by the Output
	IDs     []wire.ID // failed members, owned by the Output
	casts   []cast    // the effects that Merge may merge
}

func (o *Output) emit(e Effect) { o.Effects = append(o.Effects, e) }

// order appends the effect that sends a message from or to a manager.
func (o *Output) order(to nid.NID, m *wire.Order) {
	begin := len(o.Buf)
	o.Buf = m.AppendTo(o.Buf)
	o.emit(Effect{Kind: DoReport, To: to, Head: Range{begin, len(o.Buf)}})
}

// refusal appends the effect that sends an answer to a message which changed nothing. With stranger, the receiver may not
// be a member.
func (o *Output) refusal(to nid.NID, m *wire.Order, stranger bool) {
	o.order(to, m)
	e := &o.Effects[len(o.Effects)-1]
	e.Refusal, e.Stranger = true, stranger
}

// shared appends the effect that sends a message whose lists are encoded already.
func (o *Output) shared(to nid.NID, m *wire.Order, lists []byte) {
	begin := len(o.Buf)
	o.Buf = m.AppendHead(o.Buf)
	o.emit(Effect{Kind: DoReport, To: to, Head: Range{begin, len(o.Buf)}, Data: lists})
}

// keptBuf bounds the memory of an Output that Reset keeps, in bytes.
const keptBuf = 1 << 20

// Reset empties o. It keeps o's memory up to keptBuf.
func (o *Output) Reset() {
	clear(o.Effects)
	if cap(o.Buf) > keptBuf {
		o.Buf = nil
	}
	o.Effects, o.Buf, o.IDs, o.casts = o.Effects[:0], o.Buf[:0], o.IDs[:0], o.casts[:0]
}
